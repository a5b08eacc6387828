package keybackup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var updateFormats = flag.Bool("update-formats", false, "write the golden file of the present format of archives anew, with new keys")

// archiveV1 has the entries of an archive in format 1, with keys of a test. The file
// never changes: archives of format 1 stay readable, because they are backups.
const archiveV1 = "testdata/keys-format-1.json"

// entry is an entry of an archive.
type entry struct {
	Name, Mode, Content string
}

func entriesOf(t *testing.T, archive []byte) []entry {
	t.Helper()
	var out []entry
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{h.Name, fmt.Sprintf("%04o", h.Mode), string(content)})
	}
}

// TestArchiveFormat reads the golden archive of format 1, and packs its keys again: names,
// modes, order and description of the entries are those of the golden archive.
func TestArchiveFormat(t *testing.T) {
	t.Parallel()
	if *updateFormats {
		archive, err := pack("prod", newKeys(t).Files(), nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(entriesOf(t, archive), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(archiveV1, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(archiveV1)
	if err != nil {
		t.Fatal(err)
	}
	var want []entry
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	var golden bytes.Buffer
	w := tar.NewWriter(&golden)
	for _, e := range want {
		mode := int64(0)
		if _, err := fmt.Sscanf(e.Mode, "%o", &mode); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: e.Name, Mode: mode, Size: int64(len(e.Content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.Content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var about Description
	if len(want) == 0 {
		t.Fatal("the golden archive is empty")
	}
	if err := json.Unmarshal([]byte(want[0].Content), &about); err != nil {
		t.Fatal(err)
	}
	now := about.Created.Add(time.Hour) // a time at which the authorities are valid
	files, read, err := unpack(golden.Bytes(), now)
	if err != nil || read.Cluster != "prod" || read.Format != 1 {
		t.Fatalf("an archive of format 1: %+v, %v", read, err)
	}
	again, err := pack(read.Cluster, files, read.External, about.Created)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, entriesOf(t, again)); diff != "" {
		t.Errorf("the format of archives has changed (-want +got): give it a new number, and read the former one, too:\n%s", diff)
	}
}
