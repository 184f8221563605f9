"""What an interrupt tells, in the little time that it has."""
