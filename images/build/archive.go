package build

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// member is one program of an archive with its path inside.
type member struct{ name, source string }

// writeArchive writes a tar.gz with the publishers' layout, without dates, so that the
// same programs give the same bytes. writeArchive compresses lightly, because such an archive
// travels once.
func writeArchive(path string, members []member) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	compressed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, m := range members {
		if err := addMember(archive, m); err != nil {
			return fmt.Errorf("archive %s: %s: %w", filepath.Base(path), m.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func addMember(archive *tar.Writer, m member) error {
	source, err := os.Open(m.source)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: m.name, Mode: 0o755, Size: info.Size(), Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, source)
	return err
}
