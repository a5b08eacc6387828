// Package archive has the modules that unpack and create archives on the host.
package archive

import (
	"archive/tar"
	"bufio"
	"compress/bzip2"
	"deployer/fileformat"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// member is one entry of an archive.
type member struct {
	name    string      // as the archive has it
	mode    fs.FileMode // type (directory, symbolic link, plain) and permissions
	size    int64       // bytes of a plain file
	link    string      // target of a symbolic or hard link
	hard    bool        // a hard link to the member called link
	content io.Reader   // of a plain file
}

// reader is an archive that can be read from anywhere, which zip needs.
type reader interface {
	io.Reader
	io.ReaderAt
}

// each calls do for every member, in the archive's order. The first bytes decide the
// format, not the name.
func each(f reader, size int64, do func(member) error) error {
	in := bufio.NewReaderSize(f, 64<<10)
	switch fileformat.Peek(in) {
	case fileformat.Zip:
		return eachZip(f, size, do)
	case fileformat.Gzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		return eachTar(z, do)
	case fileformat.Zstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		defer z.Close()
		return eachTar(z, do)
	case fileformat.XZ:
		z, err := xz.NewReader(in)
		if err != nil {
			return err
		}
		return eachTar(z, do)
	case fileformat.Bzip2:
		return eachTar(bzip2.NewReader(in), do)
	default:
		return eachTar(in, do)
	}
}

func eachTar(in io.Reader, do func(member) error) error {
	t := tar.NewReader(in)
	for first := true; ; first = false {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			// The rest of the stream is read too, because its checksum is at the end.
			_, err := io.Copy(io.Discard, in)
			return err
		}
		if errors.Is(err, tar.ErrHeader) && first {
			return errors.New("it is neither a tar archive (plain, gzip, zstd, xz or bzip2) nor a zip archive")
		}
		if err != nil {
			return err
		}
		m := member{name: h.Name, mode: h.FileInfo().Mode(), size: h.Size, link: h.Linkname, content: t}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeGNUSparse:
		case tar.TypeLink:
			m.hard = true
		case tar.TypeXGlobalHeader:
			continue
		default:
			return fmt.Errorf("%s is neither a file, a directory nor a link (type %q)", h.Name, strings.TrimSpace(string(h.Typeflag)))
		}
		if err := do(m); err != nil {
			return err
		}
	}
}
