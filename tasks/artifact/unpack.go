package artifact

import (
	"archive/tar"
	"bufio"
	"deployer/fileformat"
	"deployer/shortlist"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip" // half the time of the standard library's
)

// unpack passes the wanted members of a tar archive, plain or gzip, to the stage, and reads
// the blob to its end, so that its digest is verified.
func unpack(blob io.Reader, members map[string]string, s *stage) error {
	in := bufio.NewReader(blob)
	var archive io.Reader = in
	if fileformat.Peek(in) == fileformat.Gzip {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		archive = z
	}
	found, names, err := walk(tar.NewReader(archive), members, s)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	for from := range members {
		if !found[from] {
			return fmt.Errorf("the archive has no member %q; it has %s", from, some(names))
		}
	}
	return nil
}

func walk(t *tar.Reader, members map[string]string, s *stage) (found map[string]bool, names []string, err error) {
	found = map[string]bool{}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return found, names, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := path.Clean("/" + h.Name)[1:]
		names = append(names, name)
		from, dest, exact := pick(name, members)
		if dest == "" {
			continue
		}
		found[from] = true
		if err := s.add(dest, t, exact); err != nil {
			return nil, nil, err
		}
	}
}

// pick returns the destination of a member. Some archives have a top directory with the
// version in its name; a wanted name without that directory matches, too.
func pick(name string, members map[string]string) (from, dest string, exact bool) {
	_, below, nested := strings.Cut(name, "/")
	for key, to := range members {
		want := path.Clean("/" + key)[1:]
		if !strings.HasSuffix(key, "/") {
			if name == want {
				return key, to, true
			}
			if nested && below == want {
				from, dest = key, to
			}
			continue
		}
		prefix := want + "/"
		if want == "" {
			prefix = ""
		}
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return key, path.Join(to, rest), true
		}
		if rest, ok := strings.CutPrefix(below, prefix); ok && nested {
			from, dest = key, path.Join(to, rest)
		}
	}
	return from, dest, false
}

// some returns the first names of an archive, for an error.
func some(names []string) string {
	if len(names) == 0 {
		return "no files at all"
	}
	slices.Sort(names)
	return shortlist.Names(names, 12)
}
