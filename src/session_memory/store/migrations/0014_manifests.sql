-- Segments from here on say whose texts they hold (see store/manifest.py). No table changes; the
-- number keeps older programs, which cannot read such files, from taking them for damaged.
SELECT 1;
