package container

import (
	"bytes"
	"encoding/binary"
	"time"
)

// The functions in this file read location and capture time from parts of a movie that are dropped.
// They ignore what they do not understand.

const (
	maxMetaBoxes = 256
	maxMetaValue = 4096
)

var xmpUUID = []byte{0xbe, 0x7a, 0xcf, 0xcb, 0x97, 0xa9, 0x42, 0xe8, 0x9c, 0x71, 0x99, 0x94, 0x91, 0xe3, 0xaf, 0xac}

// eachMetaBox calls fn for the boxes of a range up to the first that is malformed.
func (w *movieWalk) eachMetaBox(at, end int64, fn func(box)) {
	for range maxMetaBoxes {
		if end-at < 8 {
			return
		}
		b, err := w.boxAt(at, end)
		if err != nil {
			return
		}
		fn(b)
		at = b.end()
	}
}

// value returns the first bytes of a range, or nil.
func (w *movieWalk) value(at, end int64, limit int) []byte {
	data, err := w.source.bytes(at, int(max(0, min(end-at, int64(limit)))))
	if err != nil {
		return nil
	}
	return data
}

// readUserData reads the box in which phones and QuickTime store the location.
func (w *movieWalk) readUserData(udta box) {
	w.eachMetaBox(udta.body(), udta.end(), func(b box) {
		switch b.kind {
		case "\xa9xyz":
			if value := w.value(b.body(), b.end(), maxMetaValue); len(value) > 4 { // after a length and a language
				w.readISO6709(string(value[4:]))
			}
		case "loci":
			w.readLoci(w.value(b.body(), b.end(), maxMetaValue))
		case "XMP_":
			w.readXMP(w.value(b.body(), b.end(), maxXMP))
		case "meta":
			w.readMeta(b)
		}
	})
}

func (w *movieWalk) readISO6709(text string) {
	if lat, lng, ok := parseISO6709(text); ok {
		w.setPlace(lat, lng)
	}
}

// readLoci reads a location in the form of 3GPP: after a name and a role, longitude and latitude in
// 16.16 bits.
func (w *movieWalk) readLoci(value []byte) {
	if len(value) < 6 {
		return
	}
	name := bytes.IndexByte(value[6:], 0)
	if name < 0 || len(value) < 6+name+1+1+8 {
		return
	}
	point := value[6+name+2:]
	lng, lat := int32(binary.BigEndian.Uint32(point)), int32(binary.BigEndian.Uint32(point[4:]))
	w.setPlace(float64(lat)/65536, float64(lng)/65536)
}

// readMeta reads a list of keys and the list of their values, or an XMP packet.
func (w *movieWalk) readMeta(meta box) {
	at := meta.body()
	if meta.kind == "uuid" {
		if bytes.Equal(w.value(at, meta.end(), len(xmpUUID)), xmpUUID) {
			w.readXMP(w.value(at+int64(len(xmpUUID)), meta.end(), maxXMP-len(xmpUUID)))
		}
		return
	}
	if head := w.value(at, meta.end(), 8); len(head) == 8 && string(head[4:]) != "hdlr" {
		at += 4 // in MP4 the box has a version, in QuickTime it has none
	}
	var keys []string
	w.eachMetaBox(at, meta.end(), func(b box) {
		switch b.kind {
		case "keys":
			keys = w.metaKeys(b)
		case "ilst":
			w.metaValues(b, keys)
		}
	})
}

func (w *movieWalk) metaKeys(b box) (keys []string) {
	w.eachMetaBox(b.body()+8, b.end(), func(key box) { // the body of each box is the name of a key
		keys = append(keys, string(w.value(key.body(), key.end(), 64)))
	})
	return keys
}

func (w *movieWalk) metaValues(ilst box, keys []string) {
	w.eachMetaBox(ilst.body(), ilst.end(), func(item box) {
		index := int(binary.BigEndian.Uint32([]byte(item.kind))) - 1
		if index < 0 || index >= len(keys) {
			return
		}
		w.eachMetaBox(item.body(), item.end(), func(data box) {
			value := w.value(data.body(), data.end(), maxMetaValue)
			if data.kind != "data" || len(value) < 8 {
				return
			}
			w.metaValue(keys[index], string(value[8:])) // after the type and the language
		})
	})
}

func (w *movieWalk) metaValue(key, value string) {
	switch key {
	case "com.apple.quicktime.location.ISO6709":
		w.readISO6709(value)
	case "com.apple.quicktime.creationdate":
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05-0700"} {
			if at, err := time.Parse(layout, value); err == nil {
				// It has a zone and is written by the camera: more reliable than the header's time,
				// which editors overwrite.
				w.CapturedAt, w.ZoneUnknown = at.UTC(), false
			}
		}
	}
}
