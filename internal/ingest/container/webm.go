package container

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// The ids of elements that the reader distinguishes. Those used only in webmParts are written
// there.
const (
	idVoid            = 0xec
	idEBML            = 0x1a45dfa3
	idDocType         = 0x4282
	idSegment         = 0x18538067
	idSeekHead        = 0x114d9b74
	idInfo            = 0x1549a966
	idTimestampScale  = 0x2ad7b1
	idDateUTC         = 0x4461
	idMuxingApp       = 0x4d80
	idWritingApp      = 0x5741
	idTracks          = 0x1654ae6b
	idTrackEntry      = 0xae
	idTrackNumber     = 0xd7
	idTrackType       = 0x83
	idCodecID         = 0x86
	idDefaultDuration = 0x23e383
	idCodecPrivate    = 0x63a2
	idEncodings       = 0x6d80
	idVideo           = 0xe0
	idPixelWidth      = 0xb0
	idPixelHeight     = 0xba
	idAudio           = 0xe1
	idCluster         = 0x1f43b675
	idTimestamp       = 0xe7
	idSimpleBlock     = 0xa3
	idBlockGroup      = 0xa0
	idBlock           = 0xa1
	idBlockDuration   = 0x9b
	idReference       = 0xfb
	idCues            = 0x1c53bb6b
	idChapters        = 0x1043a770
	idTags            = 0x1254c367
	idTag             = 0x7373
	idSimpleTag       = 0x67c8
	idTagName         = 0x45a3
	idTagString       = 0x4487
	idAttachments     = 0x1941a469
)

// webmParts are the elements that may stay inside each element. All others become Void: tags,
// attachments, chapters, titles, checksums.
var webmParts = map[uint32][]uint32{
	idSegment:  {idSeekHead, idInfo, idTracks, idCluster, idCues},
	idSeekHead: {0x4dbb}, // positions of other elements, which do not change
	idInfo:     {idTimestampScale, 0x4489 /* duration */, idMuxingApp, idWritingApp},
	idTracks:   {idTrackEntry},
	idTrackEntry: {idTrackNumber, 0x73c5 /* identity */, idTrackType, 0xb9, 0x88, 0x55aa, 0x9c /* flags */, idDefaultDuration,
		0x22b59c /* language */, idCodecID, idCodecPrivate, 0x56aa, 0x56bb /* delays */, idVideo, idAudio},
	idVideo: {idPixelWidth, idPixelHeight, 0x54aa, 0x54bb, 0x54cc, 0x54dd /* crop */, 0x54b0, 0x54ba, 0x54b2, /* display */
		0x9a, 0x9d /* interlace */, 0x53b8 /* stereo */, 0x55b0 /* colour */, 0x7670 /* projection */},
	idAudio:      {0xb5, 0x78b5 /* frequencies */, 0x9f /* channels */, 0x6264 /* bits */},
	idCluster:    {idTimestamp, idSimpleBlock, idBlockGroup, 0xab, 0xa7 /* positions */},
	idBlockGroup: {idBlock, idBlockDuration, idReference, 0x75a2 /* padding */},
	idCues:       {0xbb}, // positions of key frames
}

// topParts are the elements that end a cluster of unknown length.
var topParts = []uint32{idSeekHead, idInfo, idTracks, idCluster, idCues, idChapters, idTags, idAttachments}

// webmWalk is the state of reading a WebM file.
type webmWalk struct {
	*File
	elements  int
	edits     overlay
	scale     uint64 // nanoseconds of a tick
	tracks    []*webmTrack
	picture   *webmTrack // the kept video track
	clusterAt uint64     // ticks
	block     webmBlock  // the current block group

	last, before int64 // the latest two times of a frame, in ticks
	lastDuration int64 // the stated duration of the latest frame
	frames       int
}

type webmTrack struct {
	number, kind    uint64
	codec           string
	width, height   uint64
	defaultDuration uint64  // nanoseconds
	private         element // CodecPrivate
	kept            bool
}

// The types of tracks that are kept.
const (
	webmPicture = 1
	webmSound   = 2
)

// readWebM keeps the first video track and the sound tracks, and cleans the file in place, as
// readMovie does.
func readWebM(f *File) error {
	w := &webmWalk{File: f, scale: 1_000_000, last: -1, before: -1}
	header, err := w.elementAt(0, w.source.size)
	if err != nil {
		return err
	}
	if err := w.header(header); err != nil {
		return err
	}
	segment, err := w.elementAt(header.end, w.source.size)
	if err != nil {
		return err
	}
	if segment.id != idSegment {
		return unreadable("the video is damaged: its header is not followed by a segment")
	}
	if err := w.part(segment); err != nil {
		return err
	}
	if err := w.summarize(); err != nil {
		return err
	}
	w.plan, err = w.edits.plan(segment.end) // what follows the segment is dropped
	return err
}

// maxWebMHeader is several times the length of usual headers.
const maxWebMHeader = 256

func (w *webmWalk) header(header element) error {
	if header.id != idEBML || header.open || header.end-header.body > maxWebMHeader {
		return unreadable("the video is damaged: its header is invalid")
	}
	documentType := ""
	for at := header.body; at < header.end; {
		e, err := w.elementAt(at, header.end)
		if err != nil {
			return err
		}
		if e.id == idDocType {
			documentType, err = w.text(e)
			if err != nil {
				return err
			}
		}
		at = e.end
	}
	if documentType != "webm" {
		return problem(CodeUnsupported, "the file is a Matroska file that is not WebM; send WebM or MP4")
	}
	return nil
}

// part reads an element that contains others. Its depth is bounded by webmParts.
func (w *webmWalk) part(parent element) error {
	_, err := w.children(parent)
	return err
}

// children reads the children of an element and returns the end of the last one.
func (w *webmWalk) children(parent element) (at int64, err error) {
	for at = parent.body; at < parent.end; {
		e, err := w.elementAt(at, parent.end)
		if err != nil {
			return 0, err
		}
		if parent.open && parent.id == idCluster && slices.Contains(topParts, e.id) {
			return at, nil
		}
		if e.open && (parent.id != idSegment || e.id != idCluster) {
			return 0, unreadable("the video is damaged: a part of it has no length")
		}
		if at, err = w.child(parent, e); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// child reads an element and returns its end.
func (w *webmWalk) child(parent, e element) (end int64, err error) {
	if !slices.Contains(webmParts[parent.id], e.id) {
		if err := w.dropped(e); err != nil {
			return 0, err
		}
		w.edits.void(e)
		return e.end, nil
	}
	switch e.id {
	case idCluster:
		return w.children(e)
	case idInfo, idTracks, idVideo, idAudio, idSeekHead, idCues:
		return e.end, w.part(e)
	case idTrackEntry:
		return e.end, w.trackEntry(e)
	case idBlockGroup:
		return e.end, w.blockGroup(e)
	}
	return e.end, w.leaf(parent, e)
}

func (w *webmWalk) leaf(parent, e element) (err error) {
	if parent.id == idTrackEntry || parent.id == idVideo {
		return w.trackField(w.tracks[len(w.tracks)-1], e)
	}
	switch e.id {
	case idTimestampScale:
		if w.scale, err = w.unsigned(e); err == nil && (w.scale == 0 || w.scale > uint64(time.Second)) {
			err = unreadable("the video is damaged: its clock ticks every %d ns", w.scale)
		}
	case idMuxingApp, idWritingApp:
		w.edits.erase(e.body, e.end-e.body) // required, but may be empty
	case idTimestamp:
		w.clusterAt, err = w.unsigned(e)
	case idSimpleBlock, idBlock:
		return w.readBlock(e)
	case idBlockDuration:
		w.block.duration, err = w.unsigned(e)
	case idReference:
		w.block.refers = true
	}
	return err
}

// dropped reads capture time and location from an element that is dropped.
func (w *webmWalk) dropped(e element) error {
	switch e.id {
	case idEncodings:
		return unreadable("the video is compressed or encrypted as a whole; send it plain")
	case idDateUTC:
		value, err := w.unsigned(e)
		if err != nil {
			return err
		}
		epoch := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		w.setCaptured(epoch.Add(time.Duration(value)), false)
	case idTags:
		w.readTags(e, 0)
	}
	return nil
}

// readTags reads the location from tags, where converters of phones' videos store it. Malformed
// tags are skipped.
func (w *webmWalk) readTags(parent element, depth int) {
	if depth > 3 {
		return
	}
	var name, value string
	for at := parent.body; at < parent.end; {
		e, err := w.elementAt(at, parent.end)
		if err != nil || e.open {
			return
		}
		switch e.id {
		case idTag, idSimpleTag:
			w.readTags(e, depth+1)
		case idTagName:
			name, _ = w.text(e)
		case idTagString:
			value, _ = w.text(e)
		}
		at = e.end
	}
	if strings.Contains(strings.ToUpper(name), "LOCATION") {
		if lat, lng, ok := parseISO6709(value); ok {
			w.setPlace(lat, lng)
		}
	}
}

// text returns the first 256 bytes of an element's body as text.
func (w *webmWalk) text(e element) (string, error) {
	body, err := w.source.bytes(e.body, int(min(e.end-e.body, 256)))
	if err != nil {
		return "", err
	}
	text, _, _ := strings.Cut(string(body), "\x00")
	return text, nil
}

func (w *webmWalk) trackEntry(e element) error {
	if len(w.tracks) >= maxTracks {
		return unreadable("the video has more than %d tracks", maxTracks)
	}
	t := &webmTrack{}
	w.tracks = append(w.tracks, t)
	before := len(w.edits.edits)
	if err := w.part(e); err != nil {
		return err
	}
	switch {
	case t.kind == webmPicture && w.picture == nil:
		if !slices.Contains([]string{"V_VP8", "V_VP9", "V_AV1"}, t.codec) {
			return problem(CodeUnsupported, "the video is coded as %q, which WebM does not have; send VP8, VP9 or AV1", printable([]byte(t.codec)))
		}
		w.picture, t.kept = t, true
		const head = 4 // length of the configuration's header, before its units
		if at := t.private.body + head; t.codec == "V_AV1" && at < t.private.end {
			return cleaner{w.source, &w.edits}.obus(at, t.private.end-at)
		}
	case t.kind == webmSound:
		t.kept = true
		if t.codec == "A_VORBIS" {
			return w.eraseComments(t.private)
		}
	default:
		w.edits.edits = w.edits.edits[:before]
		w.edits.void(e)
	}
	return nil
}

func (w *webmWalk) trackField(t *webmTrack, e element) (err error) {
	switch e.id {
	case idTrackNumber:
		t.number, err = w.unsigned(e)
	case idTrackType:
		t.kind, err = w.unsigned(e)
	case idDefaultDuration:
		t.defaultDuration, err = w.unsigned(e)
	case idCodecID:
		t.codec, err = w.text(e)
	case idCodecPrivate:
		t.private = e
	case idPixelWidth:
		t.width, err = w.unsigned(e)
	case idPixelHeight:
		t.height, err = w.unsigned(e)
	}
	return err
}

// webmBlock describes the block of a block group.
type webmBlock struct {
	in       bool // inside a group
	seen     bool // the block was read
	track    *webmTrack
	at       int64 // ticks
	refers   bool  // to another frame: not a key frame
	duration uint64
}

// blockGroup reads a block group and drops it if its track is not kept.
func (w *webmWalk) blockGroup(e element) error {
	w.block = webmBlock{in: true}
	before := len(w.edits.edits)
	if err := w.part(e); err != nil {
		return err
	}
	group := w.block
	w.block = webmBlock{}
	if group.track == nil || !group.track.kept {
		w.edits.edits = w.edits.edits[:before]
		w.edits.void(e)
		return nil
	}
	if group.track == w.picture {
		w.frame(group.at, !group.refers, int64(min(group.duration, 1<<40)))
	}
	return nil
}

// readBlock reads the header of a block: track, time and flags.
func (w *webmWalk) readBlock(e element) error {
	number, length, err := w.number(e.body, e.end, 8)
	if err != nil {
		return err
	}
	number &^= 1 << (7 * length)
	if e.end-e.body < length+3 {
		return unreadable("the video is damaged: a block of it is empty")
	}
	head, err := w.source.bytes(e.body+length, 3)
	if err != nil {
		return err
	}
	flags := head[2]
	at := int64(min(w.clusterAt, 1<<60)) + int64(int16(binary.BigEndian.Uint16(head)))
	i := slices.IndexFunc(w.tracks, func(t *webmTrack) bool { return t.number == number })
	if w.block.in && w.block.seen {
		return unreadable("the video is damaged: two blocks of it are in one group")
	}
	if w.block.in {
		w.block.seen = true
		if i >= 0 {
			w.block.track, w.block.at = w.tracks[i], at
			if w.tracks[i] == w.picture {
				return w.cleanFrame(e.body+length+3, e.end, flags)
			}
		}
		return nil
	}
	if i < 0 || !w.tracks[i].kept {
		w.edits.void(e)
		return nil
	}
	if w.tracks[i] == w.picture {
		const keyframe = 0x80
		w.frame(at, flags&keyframe != 0, 0)
		return w.cleanFrame(e.body+length+3, e.end, flags)
	}
	return nil
}

// cleanFrame cleans the frame in a block of the video track.
func (w *webmWalk) cleanFrame(at, end int64, flags byte) error {
	const laced = 0x06
	if w.picture.codec != "V_AV1" {
		return nil
	}
	if flags&laced != 0 {
		return unreadable("the video is damaged: a block of it has several pictures")
	}
	return cleaner{w.source, &w.edits}.obus(at, end-at)
}

// frame counts a frame of the video track.
func (w *webmWalk) frame(at int64, keyframe bool, duration int64) {
	w.frames++
	if keyframe {
		w.Keyframes++
	}
	if at > w.last {
		w.last, w.before, w.lastDuration = at, w.last, duration
	}
}

// summarize sets the facts of the file. The video ends after the duration of the last frame, or of
// the one before it. The duration in the header is often missing and is not used.
func (w *webmWalk) summarize() error {
	if w.picture == nil {
		return unreadable("the file has no video in it")
	}
	if w.frames == 0 {
		return unreadable("the video has no frames")
	}
	if err := w.setPixels(int64(min(w.picture.width, 1<<32)), int64(min(w.picture.height, 1<<32))); err != nil {
		return err
	}
	if w.last < 0 || uint64(w.last) > uint64(maxDuration)/w.scale {
		return errTooLong
	}
	w.Duration = time.Duration(uint64(w.last) * w.scale)
	switch {
	case w.lastDuration > 0 && uint64(w.lastDuration) <= uint64(maxDuration)/w.scale:
		w.Duration += time.Duration(uint64(w.lastDuration) * w.scale)
	case w.picture.defaultDuration > 0 && w.picture.defaultDuration < uint64(time.Minute):
		w.Duration += time.Duration(w.picture.defaultDuration)
	case w.before >= 0:
		w.Duration += time.Duration(uint64(w.last-w.before) * w.scale)
	}
	return nil
}
