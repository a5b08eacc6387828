package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/images"

	"github.com/google/renameio/v2"
)

// aptLists is the directory of apt's package lists.
const aptLists = "/var/lib/apt/lists"

// debCache caches dependency closures and downloaded packages in one directory, so that
// a second build does not run apt.
type debCache struct {
	dir   string
	arch  string
	lists string   // fingerprint of apt's lists
	apt   []string // options of apt that choose lists of another architecture
	// known caches the output of apt-cache in this process: the closures overlap, and each
	// call of apt-cache reads all its lists.
	known map[string]deb
}

func openDebCache(dir, arch string) (debCache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return debCache{}, err
	}
	fingerprint, err := listsFingerprint(aptLists)
	return debCache{dir: dir, arch: arch, lists: fingerprint, known: map[string]deb{}}, err
}

// listsFingerprint returns a digest that changes when apt's lists in dir change.
func listsFingerprint(dir string) (string, error) {
	var inputs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return fs.SkipDir // no lists at all, or apt's private directory of partial downloads
		case err != nil:
			return err
		case entry.IsDir() || !strings.Contains(entry.Name(), "_"):
			return nil // lock files are not lists
		}
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("reading apt's lists: %w", err)
		}
		inputs = append(inputs, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
		return nil
	})
	return keyOf(inputs...), err
}

// closure returns the cached closure of roots, computed again when apt's lists have
// changed.
func (c debCache) closure(ctx context.Context, roots ...string) ([]deb, error) {
	path := filepath.Join(c.dir, "closure-"+keyOf("closure 2", c.lists, c.arch, strings.Join(roots, " "))+".json")
	var debs []deb
	if content, err := os.ReadFile(path); err == nil && json.Unmarshal(content, &debs) == nil {
		return debs, nil
	}
	debs, err := closure(roots, func(names []string) (map[string]deb, error) { return c.show(ctx, names) })
	if err != nil {
		return nil, fmt.Errorf("for architecture %s: %w", c.arch, err)
	}
	content, err := json.Marshal(debs)
	if err != nil {
		return nil, err
	}
	return debs, renameio.WriteFile(path, content, 0o644)
}

// show returns the records of packages, from the cache where possible.
func (c debCache) show(ctx context.Context, names []string) (map[string]deb, error) {
	unknown := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return c.known[name].Name != "" })
	if len(unknown) > 0 {
		packages, err := showPackages(ctx, c.apt, c.arch, unknown)
		if err != nil {
			return nil, err
		}
		maps.Copy(c.known, packages)
	}
	answer := map[string]deb{}
	for _, name := range names {
		if d, ok := c.known[name]; ok {
			answer[name] = d
		}
	}
	return answer, nil
}

// fetch returns the paths of the package files, in the order of debs. apt downloads the
// missing ones in one call; their digests are compared with Debian's signed lists.
func (c debCache) fetch(ctx context.Context, debs []deb) ([]string, error) {
	paths := make([]string, len(debs))
	missing := map[string]deb{}
	for i, d := range debs {
		paths[i] = c.path(d)
		if digest, _, err := images.HashFile(paths[i]); err != nil || digest != d.SHA256 {
			missing[d.SHA256] = d
		}
	}
	if len(missing) == 0 {
		return paths, nil
	}
	return paths, c.download(ctx, missing)
}

func (c debCache) path(d deb) string { return filepath.Join(c.dir, d.SHA256+".deb") }

// download downloads the missing packages, by digest.
func (c debCache) download(ctx context.Context, missing map[string]deb) error {
	tmp, err := os.MkdirTemp(c.dir, ".download-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// APT::Sandbox::User is empty: otherwise apt warns that it cannot write to a private
	// directory.
	args := append(slices.Clone(c.apt), "-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "download")
	for _, digest := range slices.Sorted(maps.Keys(missing)) {
		args = append(args, missing[digest].Name+":"+c.arch+"="+missing[digest].Version)
	}
	if _, err := run(ctx, tmp, nil, "apt-get", args...); err != nil {
		return fmt.Errorf("downloading Debian packages (lists out of date? run apt-get update): %w", err)
	}
	files, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		digest, _, err := images.HashFile(file)
		if err != nil {
			return err
		}
		d, ok := missing[digest]
		if !ok {
			return fmt.Errorf("debian package file %s has sha256 %s, which apt's lists do not state for any package asked for", filepath.Base(file), digest)
		}
		if err := os.Rename(file, c.path(d)); err != nil {
			return err
		}
		delete(missing, digest)
	}
	for _, d := range missing {
		return fmt.Errorf("debian package %s %s: apt-get brought no file with sha256 %s", d.Name, d.Version, d.SHA256)
	}
	return nil
}
