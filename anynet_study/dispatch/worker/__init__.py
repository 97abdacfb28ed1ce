"""What happens in a job: its list of runs, trained and recorded one after the other."""
