package container

import "encoding/binary"

// maxProfile is the longest colour profile that is kept. Profiles of cameras and screens take some
// kilobytes; nobody's picture needs more to look right.
const maxProfile = 1 << 20

var errProfileTooLong = unreadable("the colour profile is longer than 1 MiB; save the picture in sRGB")

// iccProfile reports whether data is a whole ICC colour profile, as far as its header tells.
func iccProfile(data []byte) bool {
	return len(data) >= 132 && len(data) <= maxProfile && string(data[36:40]) == "acsp" && binary.BigEndian.Uint32(data) == uint32(len(data))
}
