"""Elements that Python code makes: what they are, for every maker alike."""
