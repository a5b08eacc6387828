package archive

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxLink is more than the longest target of a link, in bytes.
const maxLink = 8 << 10

func eachZip(f io.ReaderAt, size int64, do func(member) error) error {
	z, err := zip.NewReader(f, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are judged later
		return err
	}
	for _, entry := range z.File {
		if entry.Flags&1 != 0 {
			return fmt.Errorf("%s is encrypted: unpack the archive where its password is known", entry.Name)
		}
		if err := zipMember(entry, do); err != nil {
			return err
		}
	}
	return nil
}

func zipMember(entry *zip.File, do func(member) error) error {
	content, err := entry.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", entry.Name, err)
	}
	defer content.Close()
	m := member{name: entry.Name, mode: entry.Mode(), size: int64(entry.UncompressedSize64), content: content}
	const unix, darwin = 3, 19
	if host := entry.CreatorVersion >> 8; host != unix && host != darwin {
		m.mode &^= 0o022 // archives of other systems have no permissions; the files are not writable for all
	}
	if m.mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(content, maxLink))
		if err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
		m.link = string(target)
	}
	return do(m)
}
