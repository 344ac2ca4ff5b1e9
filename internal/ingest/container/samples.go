package container

import "encoding/binary"

// claimChunks finds the samples of a track by three tables: offsets of chunks, samples per chunk,
// and sample sizes.
func (w *movieWalk) claimChunks(t *track) error {
	if !t.hasSizes || !t.hasChunks || !t.hasRuns || t.entry.format == "" {
		return unreadable("the video is damaged: one of its tracks lacks the tables of its frames")
	}
	if t.sampleCount != t.timedSamples {
		return unreadable("the video is damaged: a track has %d frames and times for %d", t.sampleCount, t.timedSamples)
	}
	t.samples = t.sampleCount
	if !t.hasKeyframes {
		t.keyframes = t.samples // without a list, every frame is a key frame
	}
	if t.keyframes > t.samples {
		return unreadable("the video is damaged: it has %d frames and %d of them are key frames", t.samples, t.keyframes)
	}
	c := chunkWalk{track: t, left: t.sampleCount, sizes: t.sizes.through(w.source), chunks: t.chunks.through(w.source), runs: t.runs.through(w.source)}
	if err := c.nextRun(); err != nil {
		return err
	}
	for number := uint32(1); c.chunks.left > 0; number++ {
		if err := w.claimChunk(&c, number); err != nil {
			return err
		}
	}
	if c.left > 0 {
		return unreadable("the video is damaged: %d frames of a track are in no chunk", c.left)
	}
	return nil
}

// chunkWalk reads the three tables in parallel.
type chunkWalk struct {
	track               *track
	sizes, chunks, runs table
	left                uint64 // samples
	perChunk            uint32
	nextFirst, nextPer  uint32 // the next chunk with another number of samples, and that number; 0: none
}

func (c *chunkWalk) nextRun() error {
	c.nextFirst = 0
	if c.runs.left == 0 {
		return nil
	}
	entry, err := c.runs.next()
	if err != nil {
		return err
	}
	c.nextFirst, c.nextPer = binary.BigEndian.Uint32(entry), binary.BigEndian.Uint32(entry[4:])
	return nil
}

// claimChunk claims the samples of the next chunk.
func (w *movieWalk) claimChunk(c *chunkWalk, number uint32) error {
	if number == c.nextFirst {
		c.perChunk = c.nextPer
		if err := c.nextRun(); err != nil {
			return err
		}
	}
	entry, err := c.chunks.next()
	if err != nil {
		return err
	}
	var at int64
	if c.chunks.width == 4 {
		at = int64(binary.BigEndian.Uint32(entry))
	} else {
		at = int64(min(binary.BigEndian.Uint64(entry), 1<<62))
	}
	samples := min(uint64(c.perChunk), c.left)
	c.left -= samples
	if c.track.oneSize != 0 {
		return w.claimAlike(c.track, at, samples, c.track.oneSize)
	}
	for range samples {
		size, err := c.size()
		if err != nil {
			return err
		}
		if err := w.claimAlike(c.track, at, 1, size); err != nil {
			return err
		}
		at += int64(size)
	}
	return nil
}

// size returns the length of the next sample.
func (c *chunkWalk) size() (uint32, error) {
	entry, err := c.sizes.next()
	if err != nil {
		return 0, err
	}
	switch c.sizes.width {
	case 1:
		return uint32(entry[0]), nil
	case 2:
		return uint32(binary.BigEndian.Uint16(entry)), nil
	}
	return binary.BigEndian.Uint32(entry), nil
}

// claimAlike claims consecutive samples of one length.
func (w *movieWalk) claimAlike(t *track, at int64, samples uint64, size uint32) error {
	length := int64(min(samples*uint64(size), 1<<62)) // neither factor has more than 32 bits
	if entry := t.entry; size == 1 && t.handler == "soun" && entry.samplesPerPacket > 0 && t.oneSize == 1 {
		length = int64(samples) / entry.samplesPerPacket * entry.bytesPerPacket
	}
	if err := w.claim(at, length); err != nil {
		return err
	}
	if t.layout.coding == codedOtherwise || size == 0 {
		return nil
	}
	for end := at + length; at < end; at += int64(size) { // they are inside of the file, so there are no more than it has bytes
		if err := (cleaner{w.source, &w.edits}).sample(t.layout, at, int64(size)); err != nil {
			return err
		}
	}
	return nil
}
