"""What runs take: seconds, memory and prices, from shapes and from a study's own runs."""
