package archive

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// write makes an archive of the given format.
func write(ctx context.Context, to io.Writer, format string, list []source) error {
	if format == "zip" {
		return writeZip(ctx, to, list)
	}
	packer, err := compressor(to, format)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(ctx, packer, list), packer.Close())
}

func compressor(to io.Writer, format string) (io.WriteCloser, error) {
	switch format {
	case "gz":
		return gzip.NewWriter(to), nil
	case "zst":
		return zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	case "xz":
		return xz.NewWriter(to)
	case "tar":
		return plain{to}, nil
	}
	return nil, fmt.Errorf("format %q is none of tar, gz, zst, xz, zip", format)
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

func writeTar(ctx context.Context, to io.Writer, list []source) error {
	t := tar.NewWriter(to)
	for _, s := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := tar.FileInfoHeader(s.info, s.link)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		h.Name, h.Uname, h.Gname = s.name, "", "" // owners are recorded by number only
		h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
		if s.info.IsDir() {
			h.Name += "/"
		}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := content(t, s); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeZip(ctx context.Context, to io.Writer, list []source) error {
	z := zip.NewWriter(to)
	for _, s := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := zip.FileInfoHeader(s.info)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		h.Name, h.Method = s.name, zip.Deflate
		if s.info.IsDir() {
			h.Name, h.Method = s.name+"/", zip.Store
		}
		entry, err := z.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if s.info.Mode()&fs.ModeSymlink != 0 {
			_, err = io.WriteString(entry, s.link)
		} else {
			err = content(entry, s)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func content(to io.Writer, s source) error {
	if !s.info.Mode().IsRegular() {
		return nil
	}
	f, err := s.open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	n, err := io.Copy(to, f)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != s.info.Size() {
		return fmt.Errorf("%s changed while it was read: stop what writes to it, or leave it out", s.name)
	}
	return err
}
