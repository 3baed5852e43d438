"""The studio: direct in the browser, with the hand. A server on this machine, and the page that it serves."""
