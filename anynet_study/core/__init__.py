"""The ground of all rooms, which knows no study: errors, files, Arrow, metrics, sheets, SQL."""
