package container

import "encoding/binary"

// trackDefaults are the values of the samples of a fragmented track where a fragment has no others.
type trackDefaults struct {
	box      box
	id       uint32
	duration uint32
	size     uint32
	flags    uint32
}

const sampleIsNoKeyframe = 0x10000

// fragmentDefaults reads the mvex box, which announces fragments.
func (w *movieWalk) fragmentDefaults(parent box) error {
	return w.eachBox(parent.body(), parent.end(), func(b box) error {
		switch b.kind {
		case "mehd":
			w.edits.trim(b, 12)
			return nil
		case "trex":
			if len(w.defaults) >= maxTracks || b.length() < 24 {
				return errShortBox(b)
			}
			body, err := w.source.bytes(b.body(), 24)
			if err != nil {
				return err
			}
			w.defaults = append(w.defaults, trackDefaults{
				box: b, id: binary.BigEndian.Uint32(body[4:]), duration: binary.BigEndian.Uint32(body[12:]),
				size: binary.BigEndian.Uint32(body[16:]), flags: binary.BigEndian.Uint32(body[20:]),
			})
			return nil
		}
		w.edits.blank(b)
		return nil
	})
}

func (w *movieWalk) defaultsOf(id uint32) trackDefaults {
	for _, d := range w.defaults {
		if d.id == id {
			return d
		}
	}
	return trackDefaults{id: id}
}

// fragment reads a moof box: one fragment of a movie.
func (w *movieWalk) fragment(moof box) error {
	if !w.hasMovie {
		return unreadable("the video is damaged: a fragment comes before the description of the video")
	}
	next := moof.at // where samples begin if the track fragment has no base offset
	return w.eachBox(moof.body(), moof.end(), func(b box) error {
		switch b.kind {
		case "mfhd":
			w.edits.trim(b, 8)
			return nil
		case "traf":
			end, err := w.trackFragment(moof, b, next)
			next = end
			return err
		}
		w.edits.blank(b)
		return nil
	})
}

// trackFragment claims the samples of a track in one fragment. It returns the end of the last one.
func (w *movieWalk) trackFragment(moof, traf box, next int64) (end int64, err error) {
	var edits overlay
	var run fragmentRun
	err = w.eachBox(traf.body(), traf.end(), func(b box) error {
		switch b.kind {
		case "tfhd":
			return w.fragmentHeader(&run, &edits, moof, b, next)
		case "trun":
			return w.trackRun(&run, &edits, b)
		case "tfdt":
			edits.trim(b, 12)
			return nil
		}
		edits.blank(b)
		return nil
	})
	if err != nil {
		return 0, err
	}
	if run.track == nil || !run.track.kept {
		w.edits.blank(traf)
	} else {
		w.edits.edits = append(w.edits.edits, edits.edits...)
	}
	return run.at, nil
}

// fragmentRun is the state of reading the samples of a track fragment.
type fragmentRun struct {
	track    *track // nil: not described in the movie
	known    bool   // the header was read
	base, at int64
	defaults trackDefaults
}

// The flags of track fragment headers and of sample runs.
const (
	hasBaseOffset      = 0x1
	hasEntryIndex      = 0x2
	hasDefaultDuration = 0x8
	hasDefaultSize     = 0x10
	hasDefaultFlags    = 0x20
	baseIsFragment     = 0x20000

	hasDataOffset        = 0x1
	hasFirstFlags        = 0x4
	hasDuration          = 0x100
	hasSize              = 0x200
	hasFlags             = 0x400
	hasCompositionOffset = 0x800
)

func (w *movieWalk) fragmentHeader(run *fragmentRun, edits *overlay, moof, b box, next int64) error {
	if run.known {
		return errTwice(b)
	}
	run.known = true
	in := fieldReader{source: w.source, at: b.body(), end: b.end()}
	flags := in.uint32() & 0xffffff
	id := in.uint32()
	run.track = w.trackByID(id)
	run.defaults = w.defaultsOf(id)
	run.base = next
	if flags&baseIsFragment != 0 {
		run.base = moof.at
	}
	if flags&hasBaseOffset != 0 {
		run.base = int64(min(in.uint64(), 1<<62))
	}
	if flags&hasEntryIndex != 0 {
		in.uint32()
	}
	if flags&hasDefaultDuration != 0 {
		run.defaults.duration = in.uint32()
	}
	if flags&hasDefaultSize != 0 {
		run.defaults.size = in.uint32()
	}
	if flags&hasDefaultFlags != 0 {
		run.defaults.flags = in.uint32()
	}
	run.at = run.base
	if in.err != nil {
		return in.err
	}
	edits.erase(in.at, in.end-in.at)
	return nil
}

func (w *movieWalk) trackRun(run *fragmentRun, edits *overlay, b box) error {
	if !run.known {
		return unreadable("the video is damaged: a fragment does not name its track")
	}
	in := fieldReader{source: w.source, at: b.body(), end: b.end()}
	flags := in.uint32() & 0xffffff
	count := in.uint32()
	if flags&hasDataOffset != 0 {
		run.at = run.base + int64(int32(in.uint32()))
	}
	firstFlags, hasFirst := run.defaults.flags, flags&hasFirstFlags != 0
	if hasFirst {
		firstFlags = in.uint32()
	}
	var width int64
	for _, field := range []uint32{hasDuration, hasSize, hasFlags, hasCompositionOffset} {
		if flags&field != 0 {
			width += 4
		}
	}
	if in.err != nil {
		return in.err
	}
	if int64(count)*width > in.end-in.at {
		return unreadable("the video is damaged: a fragment has %d frames but is too short for them", count)
	}
	edits.erase(in.at+int64(count)*width, in.end-in.at-int64(count)*width)
	if width == 0 {
		return w.uniformRun(run, uint64(count), firstFlags)
	}
	for i := range count {
		sample := run.defaults
		if i == 0 {
			sample.flags = firstFlags
		}
		if flags&hasDuration != 0 {
			sample.duration = in.uint32()
		}
		if flags&hasSize != 0 {
			sample.size = in.uint32()
		}
		if flags&hasFlags != 0 && (i > 0 || !hasFirst) {
			sample.flags = in.uint32()
		} else if flags&hasFlags != 0 {
			in.uint32()
		}
		if flags&hasCompositionOffset != 0 {
			in.uint32()
		}
		if in.err != nil {
			return in.err
		}
		if err := w.fragmentSamples(run, sample, 1); err != nil {
			return err
		}
	}
	return nil
}

// uniformRun reads a run without a table: all samples but the first are equal, and there may be
// millions of them.
func (w *movieWalk) uniformRun(run *fragmentRun, count uint64, firstFlags uint32) error {
	if count == 0 {
		return nil
	}
	first := run.defaults
	first.flags = firstFlags
	if err := w.fragmentSamples(run, first, 1); err != nil {
		return err
	}
	return w.fragmentSamples(run, run.defaults, count-1)
}

func (w *movieWalk) fragmentSamples(run *fragmentRun, each trackDefaults, count uint64) error {
	length := int64(min(count*uint64(each.size), 1<<62)) // neither factor has more than 32 bits
	at := run.at
	run.at += length
	t := run.track
	if t == nil || !t.kept {
		return nil
	}
	if err := t.addTicks(count, each.duration); err != nil {
		return err
	}
	t.samples += count
	if t.handler == "vide" && t.samples > uint64(w.source.size) { // of sound, many samples can share a byte
		return unreadable("the video is damaged: it claims to have %d frames", t.samples)
	}
	if each.flags&sampleIsNoKeyframe == 0 && each.size > 0 {
		t.keyframes += count
	}
	return w.claimAlike(t, at, count, each.size)
}
