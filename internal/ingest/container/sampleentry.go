package container

import (
	"encoding/binary"
	"slices"
)

// sampleEntry is the part of a sample description that is needed to find samples.
type sampleEntry struct {
	format string
	// QuickTime counts uncompressed sound in single samples: a packet of samplesPerPacket has
	// bytesPerPacket.
	samplesPerPacket, bytesPerPacket int64
}

// The accepted codings. Players do not support the others. None is included whose frames are
// picture files with metadata.
var (
	pictureFormats = []string{"avc1", "avc3", "hvc1", "hev1", "dvh1", "dvhe", "dva1", "dvav", "av01", "vp08", "vp09", "mp4v", "s263", "apch", "apcn", "apcs", "apco", "ap4h"}
	soundFormats   = []string{"mp4a", "Opus", "alac", "ac-3", "ec-3", "samr", "sawb", "sowt", "twos", "lpcm", "raw ", "in24", "in32", "fl32", "ulaw", "alaw", "ipcm", "fpcm", ".mp3", "apac"}
)

// entryParts are the boxes that may stay inside a sample description: decoder configuration,
// colours and sound channels.
var entryParts = []string{
	"avcC", "hvcC", "lhvC", "av1C", "vpcC", "dvcC", "dvvC", "esds", "d263", "dOps", "alac", "dac3", "dec3", "damr", "pcmC", "dapa",
	"colr", "pasp", "clap", "fiel", "gama", "btrt", "mdcv", "clli", "SmDm", "CoLL", "wave", "chan", "chnl", "srat",
}

// partLengths are the lengths of parts of fixed length. What follows is erased.
var partLengths = map[string]int64{
	"dvcC": 24, "dvvC": 24, "pasp": 8, "clap": 32, "fiel": 2, "gama": 4, "btrt": 12, "mdcv": 24, "clli": 4, "SmDm": 28, "CoLL": 8, "srat": 8,
}

const (
	maxSampleEntries = 8
	pictureEntrySize = 78 // before the parts
	soundEntrySize   = 28
)

func (w *movieWalk) sampleEntries(t *track, b box) error {
	if b.length() < 8 {
		return errShortBox(b)
	}
	count, err := w.source.uint32(b.body() + 4)
	if err != nil {
		return err
	}
	if count == 0 || count > maxSampleEntries || t.entry.format != "" {
		return unreadable("the video is damaged: a track has %d sample descriptions", count)
	}
	return w.eachBox(b.body()+8, b.end(), func(entry box) error {
		if t.handler != "vide" && t.handler != "soun" {
			return nil // the track is dropped with its description
		}
		return w.sampleEntry(t, entry)
	})
}

func (w *movieWalk) sampleEntry(t *track, b box) error {
	formats, size := pictureFormats, int64(pictureEntrySize)
	if t.handler == "soun" {
		formats, size = soundFormats, soundEntrySize
	}
	if !slices.Contains(formats, b.kind) {
		return problem(CodeUnsupported, "the video is coded as %q, which is not accepted; send H.264, H.265, AV1 or VP9", printable([]byte(b.kind)))
	}
	if b.length() < size {
		return errShortBox(b)
	}
	body, err := w.source.bytes(b.body(), int(min(b.length(), 64)))
	if err != nil {
		return err
	}
	if t.entry.format == "" {
		t.entry.format = b.kind
	}
	const vendorAt, vendorLength = 12, 4
	t.edits.erase(b.body()+vendorAt, vendorLength)
	if t.handler == "vide" {
		t.width, t.height = max(t.width, int64(binary.BigEndian.Uint16(body[24:]))), max(t.height, int64(binary.BigEndian.Uint16(body[26:])))
		const nameAt, nameLength = 42, 32 // of the encoder
		t.edits.erase(b.body()+nameAt, nameLength)
	} else if size, err = t.soundLayout(b, body); err != nil {
		return err
	}
	if b.kind == "av01" { // its samples need no configuration
		if err := t.setLayout(sampleLayout{coding: codedAV1}); err != nil {
			return err
		}
	}
	if err := w.entryParts(t, b.body()+size, b.end()); err != nil {
		return err
	}
	return t.checkLayout(b.kind)
}

// checkLayout refuses a coding that must be cleaned if its configuration is missing.
func (t *track) checkLayout(format string) error {
	wanted := codedOtherwise
	switch format {
	case "avc1", "avc3", "dva1", "dvav":
		wanted = codedH264
	case "hvc1", "hev1", "dvh1", "dvhe":
		wanted = codedH265
	case "mp4v":
		wanted = codedMPEG4
	case "av01":
		wanted = codedAV1
	}
	if t.handler == "vide" && t.layout.coding != wanted {
		return unreadable("the video is damaged: the configuration of its coding is missing")
	}
	return nil
}

// soundLayout returns the length of a sound description before its parts. QuickTime has three
// versions of it.
func (t *track) soundLayout(b box, body []byte) (size int64, err error) {
	size = soundEntrySize
	channels, bits := int64(binary.BigEndian.Uint16(body[16:])), int64(binary.BigEndian.Uint16(body[18:]))
	t.entry.samplesPerPacket, t.entry.bytesPerPacket = 1, channels*((bits+7)/8)
	switch version := binary.BigEndian.Uint16(body[8:]); version {
	case 0:
	case 1:
		if size += 16; b.length() < size {
			return 0, errShortBox(b)
		}
		t.entry.samplesPerPacket, t.entry.bytesPerPacket = int64(binary.BigEndian.Uint32(body[28:])), int64(binary.BigEndian.Uint32(body[36:]))
	case 2:
		if size += 36; b.length() < size {
			return 0, errShortBox(b)
		}
		t.entry.bytesPerPacket, t.entry.samplesPerPacket = int64(binary.BigEndian.Uint32(body[56:])), int64(binary.BigEndian.Uint32(body[60:]))
	default:
		return 0, unreadable("the video is damaged: its sound is described in the unknown version %d", version)
	}
	return size, nil
}

// entryParts blanks the parts of a sample description that are not kept. QuickTime may end it with
// four zero bytes.
func (w *movieWalk) entryParts(t *track, at, end int64) error {
	for end-at >= 8 {
		b, err := w.boxAt(at, end)
		if err != nil {
			return err
		}
		if !slices.Contains(entryParts, b.kind) {
			t.edits.blank(b)
		} else if err := w.entryPart(t, b); err != nil {
			return err
		}
		at = b.end()
	}
	t.edits.erase(at, end-at)
	return nil
}

func (w *movieWalk) entryPart(t *track, b box) error {
	if length, known := partLengths[b.kind]; known {
		t.edits.trim(b, length)
	}
	if t.handler != "vide" {
		return nil
	}
	if b.kind == "colr" {
		return w.colours(t, b)
	}
	return w.pictureConfiguration(t, b)
}

// colours keeps colour parameters and valid colour profiles.
func (w *movieWalk) colours(t *track, b box) error {
	switch string(w.value(b.body(), b.end(), 4)) {
	case "nclx":
		t.edits.trim(b, 11)
		return nil
	case "nclc":
		t.edits.trim(b, 10)
		return nil
	}
	if b.length() > maxProfile {
		return errProfileTooLong
	}
	profile, err := w.source.load(b.body(), b.length())
	if err != nil {
		return err
	}
	if len(profile) < 4 || !iccProfile(profile[4:]) {
		t.edits.blank(b)
	}
	return nil
}
