#!/usr/bin/env bash
# Makes the files in files/. They are committed, because tests must not need these programs. Made with ffmpeg 5.1, cwebp 1.2 and
# exiftool 12.57 of Debian 12; other releases give other bytes and the same meaning.
set -euo pipefail
cd "$(dirname "$0")/files"

video() { # one second of a test card with a tone
  ffmpeg -hide_banner -loglevel error -y -f lavfi -i testsrc=size=64x48:rate=10:duration=1 \
    -f lavfi -i sine=frequency=440:duration=1:sample_rate=8000 -threads 1 -fflags +bitexact -flags:v +bitexact -flags:a +bitexact "$@"
}
h264=(-c:v libx264 -g 5 -pix_fmt yuv420p)
video "${h264[@]}" -c:a aac -b:a 8k plain.mp4                                                        # the description comes last
video "${h264[@]}" -c:a aac -b:a 8k -movflags +faststart faststart.mp4                               # and first
video "${h264[@]}" -c:a aac -b:a 8k -movflags frag_keyframe+empty_moov+default_base_moof fragmented.mp4
video "${h264[@]}" -c:a aac -b:a 8k -movflags frag_keyframe+empty_moov+omit_tfhd_offset+dash fragmented-dash.mp4
video -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p -tag:v hvc1 -c:a aac -b:a 8k h265.mp4
video -c:v libaom-av1 -cpu-used 8 -pix_fmt yuv420p -c:a libopus -ar 48000 -b:a 8k av1.mp4
video -c:v mpeg4 -g 5 -c:a aac -b:a 8k mpeg4.mp4                                                      # as cameras wrote before H.264
video "${h264[@]}" -c:a pcm_s16le plain.mov
video -c:v libvpx -g 5 -b:v 50k -c:a libopus -b:a 8k -ar 48000 plain.webm
video -c:v libvpx-vp9 -g 5 -b:v 50k -c:a libvorbis -live 1 live.webm                                 # no lengths, no index: as browsers record
ffmpeg -hide_banner -loglevel error -y -i av1.mp4 -c copy -fflags +bitexact -live 1 av1.webm

# Locations as subtitles, as drones write them, in separate tracks.
printf '1\n00:00:00,000 --> 00:00:00,900\nPlanted GPS 48.85837 2.29448\n' >places.srt
video -i places.srt -map 0 -map 1 -map 2 "${h264[@]}" -c:a aac -b:a 8k -c:s mov_text subtitles.mp4
video -i places.srt -map 0 -map 1 -map 2 "${h264[@]}" -c:a aac -b:a 8k -c:s mov_text \
  -movflags frag_keyframe+empty_moov+default_base_moof fragmented-subtitles.mp4
video -i places.srt -map 0 -map 1 -map 2 -c:v libvpx -g 5 -b:v 50k -c:a libopus -b:a 8k -ar 48000 -c:s webvtt subtitles.webm
rm places.srt

# A video of a phone: turned, with its location and time in four forms.
video "${h264[@]}" -c:a aac -b:a 8k -metadata creation_time=2024-05-01T10:00:00Z phone.mov
exiftool -q -overwrite_original -api QuickTimeUTC=1 \
  -Keys:GPSCoordinates="48.85837, 2.29448, 35" -Keys:CreationDate="2024:05:01 12:00:00+02:00" -Keys:Make=PlantedMake \
  -UserData:GPSCoordinates="48.85837, 2.29448, 35" -ItemList:Comment=PlantedComment \
  -XMP-exif:GPSLatitude=48.85837 -XMP-exif:GPSLongitude=2.29448 -Rotation=90 phone.mov

ffmpeg -hide_banner -loglevel error -y -f lavfi -i testsrc=size=64x48 -frames:v 1 card.png
cwebp -quiet -q 60 card.png -o lossy.webp
cwebp -quiet -lossless card.png -o lossless.webp
ffmpeg -hide_banner -loglevel error -y -f lavfi -i testsrc=size=64x48 -frames:v 1 -vf "format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='X*4'" clear.png
cwebp -quiet -q 60 clear.png -o alpha.webp
ffmpeg -hide_banner -loglevel error -y -f lavfi -i testsrc=size=64x48:rate=5:duration=1 -vcodec libwebp_anim -loop 0 animated.webp
rm card.png clear.png
