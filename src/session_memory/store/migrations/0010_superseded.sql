-- `status` counts what logs rewrote; nearly all events are none of it, so the index is all but empty.
CREATE INDEX event_superseded ON event (superseded) WHERE superseded = 1;
