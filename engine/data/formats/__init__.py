"""One file per format of data, each giving rows."""
