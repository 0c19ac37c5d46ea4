pj
locationx