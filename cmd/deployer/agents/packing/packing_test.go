package packing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	program := bytes.Repeat([]byte("a program "), 1000)
	packed, err := Pack(program)
	if err != nil {
		t.Fatal(err)
	}
	got, err := packed.Program()
	if err != nil || !bytes.Equal(got, program) {
		t.Errorf("unpacked are %d bytes, %v", len(got), err)
	}
	sum := sha256.Sum256(program)
	if digest, err := packed.Digest(); err != nil || digest != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s, %v; want %x", digest, err, sum)
	}
	for name, f := range map[string]File{"empty": nil, "cut": packed[:20], "another stream": []byte("(\xb5/\xfd")} {
		if _, err := f.Digest(); err == nil || !strings.Contains(err.Error(), "make build") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
