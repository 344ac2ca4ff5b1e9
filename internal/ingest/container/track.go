package container

import (
	"encoding/binary"
	"slices"
)

// track is one track of a movie: video, sound, or another kind that is dropped.
type track struct {
	box       box
	kept      bool
	edits     overlay // applied only if the track is kept: a dropped track is blanked as a whole
	id        uint32
	handler   string // vide, soun or another
	timescale uint32
	ticks     uint64 // duration of all samples
	samples   uint64
	keyframes uint64

	width, height int64 // of the stored frames
	onSide        bool  // shown with a quarter turn
	entry         sampleEntry
	layout        sampleLayout

	hasKeyframes                           bool // the movie lists them
	sizes, chunks, runs                    table
	oneSize                                uint32 // of all samples; 0: each has its own size
	sampleCount, timedSamples              uint64
	hasTimes, hasSizes, hasChunks, hasRuns bool
}

// trackParts are the boxes that may stay inside each part of a track. All others become free space.
var trackParts = map[string][]string{
	"trak": {"tkhd", "edts", "mdia"},
	"edts": {"elst"},
	"mdia": {"mdhd", "hdlr", "minf"},
	"minf": {"vmhd", "smhd", "hdlr", "dinf", "stbl"},
	"dinf": {"dref"},
	"stbl": {"stsd", "stts", "ctts", "stsc", "stsz", "stz2", "stco", "co64", "stss"},
}

func (w *movieWalk) track(b box) error {
	if len(w.tracks) >= maxTracks {
		return unreadable("the video has more than %d tracks", maxTracks)
	}
	t := &track{box: b}
	w.tracks = append(w.tracks, t)
	if err := w.trackPart(t, b); err != nil {
		return err
	}
	if t.handler == "" {
		return unreadable("the video is damaged: one of its tracks has no type")
	}
	return nil
}

// trackPart reads a box that contains others. Its depth is bounded by trackParts.
func (w *movieWalk) trackPart(t *track, parent box) error {
	return w.eachBox(parent.body(), parent.end(), func(b box) error {
		if !slices.Contains(trackParts[parent.kind], b.kind) {
			if b.kind == "udta" {
				w.readUserData(b)
			}
			t.edits.blank(b)
			return nil
		}
		if _, holdsOthers := trackParts[b.kind]; holdsOthers {
			return w.trackPart(t, b)
		}
		return w.trackLeaf(t, b)
	})
}

func (w *movieWalk) trackLeaf(t *track, b box) (err error) {
	switch b.kind {
	case "tkhd":
		return w.trackHeader(t, b)
	case "mdhd":
		return w.mediaHeader(t, b)
	case "hdlr":
		return w.handler(t, b)
	case "dref":
		return w.dataReferences(t, b)
	case "stsd":
		return w.sampleEntries(t, b)
	case "stts":
		return w.sampleTimes(t, b)
	case "stsz", "stz2":
		return w.sampleSizes(t, b)
	case "stsc":
		t.runs, err = w.onlyTable(t, b, t.hasRuns, 12)
		t.hasRuns = true
	case "stco":
		t.chunks, err = w.onlyTable(t, b, t.hasChunks, 4)
		t.hasChunks = true
	case "co64":
		t.chunks, err = w.onlyTable(t, b, t.hasChunks, 8)
		t.hasChunks = true
	case "stss":
		var keyframes table
		keyframes, err = w.onlyTable(t, b, t.hasKeyframes, 4)
		t.keyframes, t.hasKeyframes = uint64(keyframes.left), true
	case "ctts":
		_, err = w.readTable(&t.edits, b, 0, 8)
	case "elst":
		err = w.editList(t, b)
	case "vmhd":
		t.edits.trim(b, 12)
	case "smhd":
		t.edits.trim(b, 8)
	}
	return err
}

func (w *movieWalk) onlyTable(t *track, b box, before bool, width int64) (table, error) {
	if before {
		return table{}, errTwice(b)
	}
	return w.readTable(&t.edits, b, 0, width)
}

func (w *movieWalk) editList(t *track, b box) error {
	version, err := w.version(b)
	if err != nil {
		return err
	}
	_, err = w.readTable(&t.edits, b, 0, 12+8*int64(version))
	return err
}

func errTwice(b box) error {
	return unreadable("the video is damaged: a track has two parts %q", printable([]byte(b.kind)))
}

// trackHeader reads the number of the track and the rotation of its frames.
func (w *movieWalk) trackHeader(t *track, b box) error {
	const reserved, rest, matrixAt = 4, 60, 16
	h, err := w.datedHeader(&t.edits, b, reserved, rest)
	if err != nil {
		return err
	}
	t.id = h.number
	matrix, err := w.source.bytes(h.rest+matrixAt, 8)
	if err != nil {
		return err
	}
	// A quarter turn swaps x and y.
	t.onSide = binary.BigEndian.Uint32(matrix) == 0 && binary.BigEndian.Uint32(matrix[4:]) != 0
	return nil
}

func (w *movieWalk) mediaHeader(t *track, b box) error {
	const reserved, rest = 0, 4
	h, err := w.datedHeader(&t.edits, b, reserved, rest)
	if err != nil {
		return err
	}
	t.timescale = h.number
	return h.checkDuration()
}

// handler reads the type of a track and erases the name that its writer gave it. QuickTime repeats
// the box one level deeper for the data handler; the first one is used.
func (w *movieWalk) handler(t *track, b box) error {
	if b.length() < 24 {
		return errShortBox(b)
	}
	kind, err := w.source.bytes(b.body()+8, 4)
	if err != nil {
		return err
	}
	if t.handler == "" {
		t.handler = string(kind)
	}
	t.edits.erase(b.body()+12, b.length()-12)
	return nil
}

// maxReferences is the number of data references a track may have. It needs one: this file.
const maxReferences = 16

// dataReferences refuses a video whose frames are in other files: a player would fetch them.
func (w *movieWalk) dataReferences(t *track, b box) error {
	if b.length() < 8 {
		return errShortBox(b)
	}
	references := 0
	return w.eachBox(b.body()+8, b.end(), func(entry box) error {
		if references++; references > maxReferences || entry.length() < 4 {
			return unreadable("the video is damaged: it has more than %d data references, or short ones", maxReferences)
		}
		flags, err := w.source.uint32(entry.body())
		if err != nil {
			return err
		}
		const here = 1
		if flags&here == 0 {
			return unreadable("the video's frames are in another file; send one that contains them")
		}
		t.edits.trim(entry, 4)
		return nil
	})
}

// sampleTimes sums up the durations of samples. Durations in headers are not used.
func (w *movieWalk) sampleTimes(t *track, b box) error {
	if t.hasTimes {
		return errTwice(b)
	}
	t.hasTimes = true
	times, err := w.readTable(&t.edits, b, 0, 8)
	if err != nil {
		return err
	}
	for times = times.through(w.source); times.left > 0; {
		entry, err := times.next()
		if err != nil {
			return err
		}
		if err := t.addTicks(uint64(binary.BigEndian.Uint32(entry)), binary.BigEndian.Uint32(entry[4:])); err != nil {
			return err
		}
	}
	return nil
}

var errTooLong = unreadable("the video claims to be longer than a day")

// addTicks adds samples of a duration in ticks.
func (t *track) addTicks(samples uint64, ticks uint32) error {
	const plenty = 1 << 62 // far below an overflow of the sum, far above a day
	more := samples * uint64(ticks)
	if more > plenty || t.ticks+more > plenty {
		return errTooLong
	}
	t.timedSamples += samples
	t.ticks += more
	return nil
}

// sampleSizes records the table of sample sizes.
func (w *movieWalk) sampleSizes(t *track, b box) error {
	if t.hasSizes {
		return errTwice(b)
	}
	t.hasSizes = true
	if b.length() < 12 {
		return errShortBox(b)
	}
	first, err := w.source.uint32(b.body() + 4)
	if err != nil {
		return err
	}
	count, err := w.source.uint32(b.body() + 8)
	if err != nil {
		return err
	}
	t.sampleCount = uint64(count)
	bits := int64(32)
	switch {
	case b.kind == "stz2":
		if bits = int64(first & 0xff); bits != 8 && bits != 16 {
			return unreadable("the video is damaged: its sample sizes have %d bits", bits)
		}
	case first != 0:
		t.oneSize = first
		t.edits.trim(b, 12)
		return nil
	}
	t.sizes, err = w.readTable(&t.edits, b, 4, bits/8)
	return err
}
