-- Whether the process that stored a delivery intended to send it at once: after a kill, it may have been sent, and counts for the
-- throttle of the next process. This was in the endpoint's lease before, which was rewritten for each event.
ALTER TABLE deliveries ADD COLUMN in_hand INTEGER NOT NULL DEFAULT 0;
