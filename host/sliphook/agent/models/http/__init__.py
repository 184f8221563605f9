"""The HTTP part of the model clients: requests, answers as they come, and failures in our words."""
