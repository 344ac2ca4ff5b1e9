package container

import "encoding/binary"

// maxProfile is the length of the largest colour profile that is kept. Usual profiles take some
// kilobytes.
const maxProfile = 1 << 20

var errProfileTooLong = unreadable("the colour profile is longer than 1 MiB; save the picture in sRGB")

// iccProfile reports whether data has the header and the length of an ICC colour profile.
func iccProfile(data []byte) bool {
	return len(data) >= 132 && len(data) <= maxProfile && string(data[36:40]) == "acsp" && binary.BigEndian.Uint32(data) == uint32(len(data))
}
