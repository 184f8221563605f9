"""What a server speaks over, its own pipes or HTTP, and what it may send over either."""
