// Package fileformat recognizes compressed files and archives by their first bytes.
// Any package may import it.
package fileformat

import (
	"bufio"
	"bytes"
)

// Format is the format of a file.
type Format int

// The formats that deployer reads.
const (
	Other Format = iota // none of the following, such as a plain tar archive
	Gzip
	Zstd
	XZ
	Bzip2
	Zip
)

// signatures are the first bytes of files: RFC 1952 for gzip, RFC 8878 for zstd, the
// formats' own specifications for the others. An empty zip archive has a signature
// of its own.
var signatures = []struct {
	bytes  string
	format Format
}{
	{"\x1f\x8b", Gzip},
	{"\x28\xb5\x2f\xfd", Zstd},
	{"\xfd7zXZ\x00", XZ},
	{"BZh", Bzip2},
	{"PK\x03\x04", Zip},
	{"PK\x05\x06", Zip},
}

// longest is the length of the longest signature.
const longest = 6

// Peek returns the format of the content that in is about to read, and consumes
// nothing. A read error shows up at the next read.
func Peek(in *bufio.Reader) Format {
	head, _ := in.Peek(longest)
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.bytes)) {
			return s.format
		}
	}
	return Other
}
