-- Whether the process that stored a delivery meant to send it at once: what a kill then may have sent counts for the
-- throttle of the next process. It stood in the endpoint's lease, which was written anew for each event.
ALTER TABLE deliveries ADD COLUMN in_hand INTEGER NOT NULL DEFAULT 0;
