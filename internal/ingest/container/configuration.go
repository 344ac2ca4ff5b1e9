package container

import "slices"

// pictureConfiguration reads the layout of samples from a decoder configuration, and cleans the
// units inside the configuration.
func (w *movieWalk) pictureConfiguration(t *track, b box) error {
	in := fieldReader{source: w.source, at: b.body(), end: b.end()}
	switch b.kind {
	case "avcC":
		return w.configurationH264(t, &in)
	case "hvcC":
		return w.configurationH265(t, &in)
	case "lhvC": // the same lists, for further layers
		in.take(5)
		return w.unitLists(t, &in, int(in.take(1)[0]))
	case "av1C":
		in.take(4)
		if in.err != nil {
			return in.err
		}
		return cleaner{w.source, &t.edits}.obus(in.at, in.end-in.at)
	case "wave": // of sound
		t.edits.blank(b)
	case "esds":
		if err := t.setLayout(sampleLayout{coding: codedMPEG4}); err != nil {
			return err
		}
		return w.elementaryStream(t, b)
	}
	return nil
}

// setLayout records the layout of samples. All sample descriptions of a track must agree on it.
func (t *track) setLayout(layout sampleLayout) error {
	if t.layout != (sampleLayout{}) && t.layout != layout {
		return unreadable("the video is damaged: its frames are coded in different ways")
	}
	t.layout = layout
	return nil
}

func (w *movieWalk) configurationH264(t *track, in *fieldReader) error {
	profile := in.take(4)[1]
	if err := t.setLayout(sampleLayout{codedH264, int64(in.take(1)[0]&3) + 1}); err != nil {
		return err
	}
	for _, mask := range []byte{0x1f, 0xff} { // sequence parameter sets, then picture parameter sets
		if err := w.unitList(t, in, int(in.take(1)[0]&mask)); err != nil {
			return err
		}
	}
	if slices.Contains([]byte{100, 110, 122, 144}, profile) && in.end-in.at >= 4 { // these profiles have one more list
		in.take(3)
		if err := w.unitList(t, in, int(in.take(1)[0])); err != nil {
			return err
		}
	}
	t.edits.erase(in.at, in.end-in.at)
	return in.err
}

func (w *movieWalk) configurationH265(t *track, in *fieldReader) error {
	in.take(8)
	in.take(8)
	in.take(5)
	if err := t.setLayout(sampleLayout{codedH265, int64(in.take(1)[0]&3) + 1}); err != nil {
		return err
	}
	return w.unitLists(t, in, int(in.take(1)[0]))
}

// unitLists reads lists of units, one list for each kind, to the end of the configuration.
func (w *movieWalk) unitLists(t *track, in *fieldReader, lists int) error {
	for range lists {
		in.take(1) // the kind, which each unit repeats
		if err := w.unitList(t, in, int(in.uint16())); err != nil {
			return err
		}
	}
	t.edits.erase(in.at, in.end-in.at)
	return in.err
}

func (w *movieWalk) unitList(t *track, in *fieldReader, units int) error {
	for range units {
		size := int64(in.uint16())
		if in.err != nil || size > in.end-in.at {
			return errBadUnits
		}
		if err := (cleaner{w.source, &t.edits}).unit(t.layout, in.at, size); err != nil {
			return err
		}
		in.at += size
	}
	return in.err
}
