package keybackup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"deployer/tasks/control/keyring"
)

// format is the number of the archive's form. A reader refuses other numbers.
const format = 1

// describedIn is the first entry of the archive.
const describedIn = "deployer-keys.json"

// maxFile is the maximum size in bytes of a file in the archive. The largest one, an
// encryption configuration, has some kilobytes.
const maxFile = 1 << 20

// Description names the cluster of the keys.
type Description struct {
	Format  int       `json:"format"`
	Cluster string    `json:"cluster"`
	Created time.Time `json:"created"`
	// External are the names of the authorities whose keys are outside of the cluster.
	External []string `json:"external,omitempty"`
}

// pack returns the archive of the keys. pack fails unless the archive holds all keys of a
// cluster, because the encrypted archive cannot be verified.
func pack(cluster string, files keyring.Files, external []string, now time.Time) ([]byte, error) {
	about, err := json.Marshal(Description{format, cluster, now.UTC().Truncate(time.Second), external})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name, mode string, content []byte) error {
		bits, err := strconv.ParseInt(mode, 8, 64)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: bits, Size: int64(len(content)), ModTime: now}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	}
	errs := []error{add(describedIn, "0600", append(about, '\n'))}
	for _, path := range keyring.BackupPaths() {
		if content := files[path]; content != nil {
			errs = append(errs, add(strings.TrimPrefix(path, "/"), keyring.Mode(path), content))
		}
	}
	if err := errors.Join(append(errs, w.Close())...); err != nil {
		return nil, err
	}
	if _, _, err := unpack(out.Bytes(), now); err != nil {
		return nil, fmt.Errorf("verifying the archive of the keys: %w", err)
	}
	return out.Bytes(), nil
}

// unpack returns the files of an archive. unpack fails for an archive that is not
// whole: with an entry that is no plain file, that is unknown or that appears twice,
// or without a key that a cluster needs.
func unpack(archive []byte, now time.Time) (keyring.Files, Description, error) {
	var about Description
	files := keyring.Files{}
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, about, err
		}
		if h.Typeflag != tar.TypeReg || h.Size > maxFile {
			return nil, about, fmt.Errorf("%q is no plain file of at most %d bytes", h.Name, maxFile)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, about, fmt.Errorf("%s: %w", h.Name, err)
		}
		if h.Name == describedIn {
			if err := json.Unmarshal(content, &about); err != nil {
				return nil, about, fmt.Errorf("%s: %w", h.Name, err)
			}
			if about.Format != format {
				return nil, about, fmt.Errorf("the archive has the format %d, and this deployer reads %d: use the deployer that made it", about.Format, format)
			}
			continue
		}
		path := "/" + h.Name
		if about.Format == 0 || files[path] != nil || !slices.Contains(keyring.BackupPaths(), path) {
			return nil, about, fmt.Errorf("%q is not expected there", h.Name)
		}
		files[path] = content
	}
	if about.Format == 0 {
		return nil, about, errors.New("it has no " + describedIn)
	}
	_, missing, err := keyring.Complete(files, now, time.Hour, keyring.ExternalIn(files, about.External))
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("it has no %s", strings.Join(missing, ", "))
	}
	return files, about, err
}
