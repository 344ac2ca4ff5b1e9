package container

import (
	"slices"
	"time"
)

const maxTracks = 64

// movieWalk is the state of reading an MP4 or QuickTime file.
type movieWalk struct {
	*File
	boxes    int
	edits    overlay
	hasMovie bool
	tracks   []*track
	defaults []trackDefaults
	media    []span // the bodies of the mdat boxes
	kept     []span // the samples of the kept tracks
	claimed  int64  // total length of kept
}

// span is a range of the file.
type span struct{ at, end int64 }

// readMovie keeps the first video track and the sound tracks, and cleans the file in place: a
// dropped part becomes free space of the same length, so no offset changes. Of the sample data only
// the samples of kept tracks are served: a track of coordinates, or data between samples, is
// erased.
func readMovie(f *File) error {
	w := &movieWalk{File: f}
	if err := w.eachBox(0, w.source.size, w.topLevel); err != nil {
		return err
	}
	if !w.hasMovie {
		return unreadable("the video has no description of itself (moov): it was cut off")
	}
	if err := w.summarize(); err != nil {
		return err
	}
	if err := w.eraseUnclaimed(); err != nil {
		return err
	}
	var err error
	w.plan, err = w.edits.plan(w.source.size)
	return err
}

func (w *movieWalk) topLevel(b box) error {
	switch b.kind {
	case "ftyp":
		if b.at == 0 { // a second one, of concatenated segments, is dropped
			return w.fileType(b)
		}
	case "moov":
		return w.movie(b)
	case "moof":
		return w.fragment(b)
	case "mdat":
		w.media = append(w.media, span{b.body(), b.end()})
		return nil
	case "sidx":
		return w.index(b)
	case "meta", "uuid":
		w.readMeta(b)
	}
	w.edits.blank(b)
	return nil
}

// maxFileType leaves room for more than 200 brands.
const maxFileType = 1024

func (w *movieWalk) fileType(b box) error {
	if b.length() < 8 || b.length() > maxFileType || b.length()%4 != 0 {
		return unreadable("the video is damaged: its file type is %d bytes long", b.length())
	}
	return nil
}

// index keeps the list of fragments: their lengths and durations do not change.
func (w *movieWalk) index(b box) error {
	version, err := w.version(b)
	if err != nil {
		return err
	}
	head := int64(24)
	if version == 1 {
		head = 32
	}
	if b.length() < head {
		return errShortBox(b)
	}
	entries, err := w.source.uint16(b.body() + head - 2)
	if err != nil {
		return err
	}
	if head += 12 * int64(entries); b.length() < head {
		return errShortBox(b)
	}
	w.edits.trim(b, head)
	return nil
}

func (w *movieWalk) movie(b box) error {
	if w.hasMovie {
		return unreadable("the file has more than one video (moov)")
	}
	w.hasMovie = true
	err := w.eachBox(b.body(), b.end(), func(b box) error {
		switch b.kind {
		case "mvhd":
			return w.movieHeader(b)
		case "trak":
			return w.track(b)
		case "mvex":
			return w.fragmentDefaults(b)
		case "udta":
			w.readUserData(b)
		case "meta", "uuid":
			w.readMeta(b)
		}
		w.edits.blank(b)
		return nil
	})
	if err != nil {
		return err
	}
	return w.chooseTracks()
}

// movieHeader reads the capture time.
func (w *movieWalk) movieHeader(b box) error {
	const reserved, rest = 0, 80
	h, err := w.datedHeader(&w.edits, b, reserved, rest)
	if err != nil {
		return err
	}
	const from1904 = 2_082_844_800 // seconds from the first of January 1904 to that of 1970
	if h.created > from1904 && h.created < from1904+1<<33 {
		w.setCaptured(time.Unix(int64(h.created-from1904), 0), false)
	}
	return h.checkDuration()
}

// datedHeader is the common part of the headers of a movie, a track and a track's media.
type datedHeader struct {
	created  uint64 // seconds since 1904
	number   uint32 // ticks per second; in a track's header, the track's number
	duration uint64 // 0: unknown
	rest     int64  // offset of the rest of the header
}

// datedHeader reads a header. It erases creation and modification time, and what follows the
// required rest.
func (w *movieWalk) datedHeader(o *overlay, b box, reserved, rest int64) (h datedHeader, err error) {
	version, err := w.version(b)
	if err != nil {
		return h, err
	}
	in := fieldReader{source: w.source, at: b.body() + 4, end: b.end()}
	if version == 1 {
		h.created, _ = in.uint64(), in.uint64()
	} else {
		h.created, _ = uint64(in.uint32()), in.uint32()
	}
	o.erase(b.body()+4, in.at-b.body()-4)
	h.number = in.uint32()
	in.at += reserved
	if version == 1 {
		h.duration = in.uint64() + 1
	} else {
		h.duration = uint64(in.uint32() + 1)
	}
	if h.duration > 0 { // all ones: unknown
		h.duration--
	}
	if in.err != nil || in.end-in.at < rest {
		return h, errShortBox(b)
	}
	h.rest = in.at
	o.erase(in.at+rest, in.end-in.at-rest)
	return h, nil
}

func (h datedHeader) checkDuration() error {
	if h.number == 0 || h.duration/uint64(h.number) > uint64(maxDuration/time.Second) {
		return errTooLong
	}
	return nil
}

func (w *movieWalk) version(b box) (byte, error) {
	if b.length() < 4 {
		return 0, errShortBox(b)
	}
	version, err := w.source.bytes(b.body(), 1)
	if err != nil {
		return 0, err
	}
	if version[0] > 1 {
		return 0, unreadable("the video is damaged: its part %q has the unknown version %d", printable([]byte(b.kind)), version[0])
	}
	return version[0], nil
}

// chooseTracks keeps the first video track and every sound track. Reviewer and creator then see the
// same track in every player.
func (w *movieWalk) chooseTracks() error {
	hasPicture := false
	for _, t := range w.tracks {
		t.kept = t.handler == "soun" || t.handler == "vide" && !hasPicture
		hasPicture = hasPicture || t.handler == "vide"
		if !t.kept {
			w.edits.blank(t.box)
			continue
		}
		w.edits.edits = append(w.edits.edits, t.edits.edits...)
		if err := w.claimChunks(t); err != nil {
			return err
		}
	}
	if !hasPicture {
		return unreadable("the file has no video in it")
	}
	for _, d := range w.defaults {
		if t := w.trackByID(d.id); t == nil || !t.kept {
			w.edits.blank(d.box)
		} else {
			w.edits.trim(d.box, 24)
		}
	}
	return nil
}

func (w *movieWalk) trackByID(id uint32) *track {
	i := slices.IndexFunc(w.tracks, func(t *track) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	return w.tracks[i]
}

// summarize sets the facts of the file from its video track.
func (w *movieWalk) summarize() error {
	i := slices.IndexFunc(w.tracks, func(t *track) bool { return t.kept && t.handler == "vide" })
	t := w.tracks[i]
	if t.samples == 0 {
		return unreadable("the video has no frames")
	}
	if err := w.setPixels(t.width, t.height); err != nil {
		return err
	}
	if t.onSide {
		w.Width, w.Height = w.Height, w.Width
	}
	scale := uint64(t.timescale)
	if scale == 0 || t.ticks/scale > uint64(maxDuration/time.Second) {
		return errTooLong
	}
	w.Duration = time.Duration(t.ticks/scale)*time.Second + time.Duration(t.ticks%scale*uint64(time.Second)/scale)
	w.Keyframes = int(t.keyframes)
	return nil
}

// eraseUnclaimed erases all sample data that no kept track claims.
func (w *movieWalk) eraseUnclaimed() error {
	sortSpans(w.kept)
	sortSpans(w.media)
	claims := w.kept
	for _, body := range w.media {
		at := body.at
		for len(claims) > 0 && claims[0].at < body.end {
			claim := claims[0]
			claims = claims[1:]
			if claim.at < body.at || claim.end > body.end {
				return errSamplesOutside
			}
			if claim.at < at {
				return errSharedSamples
			}
			w.edits.erase(at, claim.at-at)
			at = claim.end
		}
		w.edits.erase(at, body.end-at)
	}
	if len(claims) > 0 {
		return errSamplesOutside
	}
	return nil
}

var errSamplesOutside = unreadable("the video is cut off or damaged: it refers to frames outside of the file")

// errSharedSamples refuses samples that share bytes. No camera writes them, and a short file could
// have its bytes cleaned any number of times.
var errSharedSamples = unreadable("the video is damaged: several of its frames are in the same place")

// claim records that a range of the file holds samples of a kept track.
func (w *movieWalk) claim(at, length int64) error {
	if at < 0 || length < 0 || at > w.source.size || length > w.source.size-at {
		return errSamplesOutside
	}
	if length == 0 {
		return nil
	}
	if w.claimed += length; w.claimed > w.source.size {
		return errSharedSamples // before they are cleaned
	}
	if n := len(w.kept); n > 0 && w.kept[n-1].end == at {
		w.kept[n-1].end += length
		return nil
	}
	if len(w.kept) >= maxEdits {
		return errTooManyEdits
	}
	w.kept = append(w.kept, span{at, at + length})
	return nil
}

func sortSpans(spans []span) {
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
}
