"""Each panel knows the study and no other panel."""
