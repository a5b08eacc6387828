package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"gopkg.in/yaml.v3"
)

// The members of a bundle: an index of artifacts with their digests, the lock file, and
// the content of each artifact as one zstd stream below contentDir.
const (
	bundleIndex = IndexName
	bundleLock  = LockName
)

// BundleFormat is the number of the format of bundles.
const BundleFormat = 1

type bundleDocument struct {
	Format int `yaml:"format"`
	Index  `yaml:",inline"`
}

// WriteBundle writes pinned artifacts into one file for a site without internet: an index
// with their digests, the lock file, and their content. All must be in the store. The same
// pins and content give the same bytes.
func (r *Resolver) WriteBundle(ctx context.Context, w io.Writer, refs []Ref) error {
	document := bundleDocument{Format: BundleFormat, Index: Index{Versions: r.bundledVersions(refs)}}
	blobs := map[string]Blob{}
	for _, ref := range refs {
		a, err := r.Catalogue.Artifact(ref.Name)
		if err != nil {
			return err
		}
		blob, err := r.Resolve(ctx, ref)
		if err != nil {
			return fmt.Errorf("bundle: %w", err)
		}
		pin, _ := r.Lock.Pin(ref)
		blobs[blob.Digest] = blob
		document.Put(IndexEntry{
			Ref: ref, Kind: a.Kind, File: contentName(blob.Digest) + compressedSuffix,
			SHA256: blob.Digest, Size: blob.Size, Manifest: pin.Manifest, Origin: pin.Source,
		})
	}
	slices.SortFunc(document.Entries, func(a, b IndexEntry) int { return a.Ref.Compare(b.Ref) })
	index, err := yaml.Marshal(document)
	if err != nil {
		return err
	}
	lock, err := os.ReadFile(r.Lock.Path())
	if err != nil {
		return fmt.Errorf("bundle: reading lock file: %w", err)
	}
	archive := tar.NewWriter(w)
	for _, member := range []struct {
		name    string
		content []byte
	}{{bundleIndex, index}, {bundleLock, lock}} {
		if err := archive.WriteHeader(bundleHeader(member.name, int64(len(member.content)))); err != nil {
			return err
		}
		if _, err := archive.Write(member.content); err != nil {
			return err
		}
	}
	for _, entry := range document.Entries {
		blob, ok := blobs[entry.SHA256]
		if !ok {
			continue // two refs with the same content
		}
		delete(blobs, entry.SHA256)
		if err := addToBundle(ctx, archive, entry.File, blob.CompressedPath); err != nil {
			return fmt.Errorf("bundle: %s: %w", entry.Ref, err)
		}
	}
	return archive.Close()
}

// bundledVersions returns the versions of the refs that differ from the catalogue's, as a
// source states them.
func (r *Resolver) bundledVersions(refs []Ref) map[string]string {
	versions := map[string]string{}
	for name, version := range r.Source.Versions() {
		if slices.ContainsFunc(refs, func(ref Ref) bool { return r.Catalogue.versionKey(ref.Name) == name && ref.Version == version }) {
			versions[name] = version
		}
	}
	return versions
}

func bundleHeader(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o444, Format: tar.FormatPAX}
}

func addToBundle(ctx context.Context, archive *tar.Writer, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(bundleHeader(name, info.Size())); err != nil {
		return err
	}
	_, err = io.Copy(archive, contextReader{ctx, file})
	return err
}

// maxBundleIndex is the size in bytes of the largest index that is read, and maxBundleMembers the
// number of members beyond which a file is no bundle: the catalogue has some hundred artifacts.
const (
	maxBundleIndex   = 16 << 20
	maxBundleMembers = 100_000
)

// bundleMembers reads the index of a bundle, and the place of each member, in one pass. r is file,
// or a reader without a buffer that reads it.
func bundleMembers(r io.Reader, file *os.File) (bundleDocument, map[string]section, error) {
	members := map[string]section{}
	var index []byte
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bundleDocument{}, nil, fmt.Errorf("is it a bundle of deployer images bundle? %w", err)
		}
		if _, twice := members[header.Name]; twice || len(members) == maxBundleMembers {
			return bundleDocument{}, nil, fmt.Errorf("it has the member %q twice, or more than %d members: it is no bundle of deployer images bundle", header.Name, maxBundleMembers)
		}
		offset, err := file.Seek(0, io.SeekCurrent) // package tar has read the header only
		if err != nil {
			return bundleDocument{}, nil, err
		}
		members[header.Name] = section{offset, header.Size}
		if len(members) > 1 {
			continue
		}
		if header.Name != bundleIndex {
			return bundleDocument{}, nil, fmt.Errorf("its first member is %q, not %s: it is no bundle of deployer images bundle", header.Name, bundleIndex)
		}
		if header.Size > maxBundleIndex {
			return bundleDocument{}, nil, fmt.Errorf("its member %s has %d bytes, more than %d: it is no bundle of deployer images bundle", bundleIndex, header.Size, maxBundleIndex)
		}
		if index, err = io.ReadAll(archive); err != nil {
			return bundleDocument{}, nil, fmt.Errorf("%s: %w", bundleIndex, err)
		}
	}
	if index == nil {
		return bundleDocument{}, nil, fmt.Errorf("it has no member %s: it is no bundle of deployer images bundle", bundleIndex)
	}
	document, err := parseBundleIndex(index)
	if err != nil {
		return document, nil, err
	}
	for _, e := range document.Entries {
		if _, ok := members[e.File]; !ok {
			return document, nil, fmt.Errorf("the content of %s is missing: copy the bundle again", e.Ref)
		}
	}
	return document, members, nil
}

// parseBundleIndex reads the index. Its number comes first: a newer format may have keys that
// this version does not know.
func parseBundleIndex(content []byte) (bundleDocument, error) {
	var head struct {
		Format int `yaml:"format"`
	}
	if err := yaml.Unmarshal(content, &head); err == nil && head.Format != BundleFormat {
		return bundleDocument{}, fmt.Errorf("it has the format %d and this version of deployer knows %d: use the version that has written it", head.Format, BundleFormat)
	}
	var document bundleDocument
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&document); err != nil {
		return document, fmt.Errorf("%s: %w", bundleIndex, err)
	}
	for _, e := range document.Entries {
		if err := e.check(); err != nil {
			return document, err
		}
	}
	return document, nil
}
