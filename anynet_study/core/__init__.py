"""What all rooms stand on, and which knows no study: errors, files, Arrow, metrics, sheets, SQL."""
