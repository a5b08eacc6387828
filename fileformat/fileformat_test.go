package fileformat

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

func TestPeek(t *testing.T) {
	t.Parallel()
	compressed := func(w io.WriteCloser, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, "content")
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var gz, zst, x, empty, full bytes.Buffer
	compressed(gzip.NewWriter(&gz), nil)
	z, err := zstd.NewWriter(&zst)
	compressed(z, err)
	xw, err := xz.NewWriter(&x)
	compressed(xw, err)
	if err := zip.NewWriter(&empty).Close(); err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(&full)
	if _, err := archive.Create("a"); err != nil || archive.Close() != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		content string
		want    Format
	}{
		"gzip": {gz.String(), Gzip}, "zstd": {zst.String(), Zstd}, "xz": {x.String(), XZ}, "bzip2": {"BZh91AY", Bzip2},
		"zip": {full.String(), Zip}, "empty zip": {empty.String(), Zip}, "text": {"content", Other}, "short": {"B", Other}, "nothing": {"", Other},
	} {
		in := bufio.NewReader(strings.NewReader(tt.content))
		if got := Peek(in); got != tt.want {
			t.Errorf("%s: format %d, want %d", name, got, tt.want)
		}
		if rest, _ := io.ReadAll(in); string(rest) != tt.content {
			t.Errorf("%s: Peek has consumed content", name)
		}
	}
}
