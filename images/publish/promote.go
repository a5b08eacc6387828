package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"deployer/images/imagetest"
)

// ErrNotGreen says that the latest record of the tests of an image is missing or
// reports failed tests.
var ErrNotGreen = errors.New("its tests are not green")

// Promote moves the tag of a stage to the digest that the stage before has, and
// returns that digest. The latest record of the tests of every architecture of the
// image must be in the registry and say that they have passed; the error wraps
// ErrNotGreen otherwise, and nothing is changed. Records are not signed: users who
// may push to the repository are trusted to push true records. verify is called with
// the digests by architecture before the tag is moved, and its error ends the
// promotion; it may be nil.
func Promote(ctx context.Context, target Target, image, version string, to Stage, verify func(digests map[string]string) error) (digest string, err error) {
	from, err := to.before()
	if err != nil {
		return "", err
	}
	repository, err := target.repository(image)
	if err != nil {
		return "", err
	}
	source := repository.Tag(from.Tag(version))
	found, err := remote.Get(source, options(ctx)...)
	if err != nil {
		return "", fmt.Errorf("promoting %s to %s: %w", source, to, err)
	}
	index, err := found.ImageIndex()
	if err != nil {
		return "", fmt.Errorf("promoting %s to %s: it is no index of images as deployer images push writes: %w", source, to, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", fmt.Errorf("promoting %s to %s: %w", source, to, err)
	}
	if len(manifest.Manifests) == 0 {
		return "", fmt.Errorf("promoting %s to %s: the index is empty", source, to)
	}
	digests := map[string]string{}
	for _, platform := range manifest.Manifests {
		if err := requireGreen(ctx, repository, platform); err != nil {
			return "", fmt.Errorf("promoting %s to %s: %w", source, to, err)
		}
		if platform.Platform != nil {
			digests[platform.Platform.Architecture] = platform.Digest.String()
		}
	}
	if verify != nil {
		if err := verify(digests); err != nil {
			return "", fmt.Errorf("promoting %s to %s: %w", source, to, err)
		}
	}
	if err := remote.Tag(repository.Tag(to.Tag(version)), found, options(ctx)...); err != nil {
		return "", fmt.Errorf("promoting %s to %s: %w", source, to, err)
	}
	return found.Digest.String(), nil
}

// requireGreen returns an error that wraps ErrNotGreen, unless the registry has a record of
// the image's tests and the latest one says that they have passed. Tests that failed may be
// repeated, and a record is never removed.
func requireGreen(ctx context.Context, repository name.Repository, platform v1.Descriptor) error {
	arch := ""
	if platform.Platform != nil {
		arch = platform.Platform.Architecture
	}
	digest := platform.Digest.String()
	records, err := recordsOf(ctx, repository, platform.Digest)
	if err != nil {
		return fmt.Errorf("reading the records of %s: %w", digest, err)
	}
	if len(records) == 0 {
		return fmt.Errorf("%s for %s: %w: the registry has no record of them; run deployer images test, and push again", digest, arch, ErrNotGreen)
	}
	latest := slices.MaxFunc(records, func(a, b imagetest.Statement) int {
		return cmp.Or(a.Predicate.TestedOn.Compare(b.Predicate.TestedOn), failures(digest, a)-failures(digest, b))
	})
	if !latest.Green(digest) {
		return fmt.Errorf("%s for %s: %w: failed are %q; repeat them with deployer images test --again, and push again", digest, arch, ErrNotGreen, latest.Predicate.FailedTests)
	}
	return nil
}

// failures returns 0 for a record of passed tests, otherwise 1: of two records with the same
// time, the record of failed tests decides.
func failures(manifest string, record imagetest.Statement) int {
	if record.Green(manifest) {
		return 0
	}
	return 1
}

// recordsOf returns the records of the tests of the image with that digest. Statements about
// another digest, and statements of other kinds that refer to the image, are left out.
func recordsOf(ctx context.Context, repository name.Repository, digest v1.Hash) ([]imagetest.Statement, error) {
	referrers, err := remote.Referrers(repository.Digest(digest.String()), options(ctx)...)
	if err != nil {
		return nil, err
	}
	manifest, err := referrers.IndexManifest()
	if err != nil {
		return nil, err
	}
	var records []imagetest.Statement
	for _, d := range manifest.Manifests {
		if d.ArtifactType != string(recordType) {
			continue
		}
		statement, err := readRecord(ctx, repository, d.Digest)
		switch {
		case errors.Is(err, imagetest.ErrOtherStatement):
		case err != nil:
			return nil, fmt.Errorf("%s: %w", d.Digest, err)
		case statement.About(digest.String()):
			records = append(records, statement)
		}
	}
	return records, nil
}

// readRecord reads a record of tests from the registry.
func readRecord(ctx context.Context, repository name.Repository, digest v1.Hash) (imagetest.Statement, error) {
	artifact, err := remote.Image(repository.Digest(digest.String()), options(ctx)...)
	if err != nil {
		return imagetest.Statement{}, err
	}
	layers, err := artifact.Layers()
	if err != nil {
		return imagetest.Statement{}, err
	}
	if len(layers) != 1 {
		return imagetest.Statement{}, fmt.Errorf("it has %d layers, not one", len(layers))
	}
	packed, err := layers[0].Compressed()
	if err != nil {
		return imagetest.Statement{}, err
	}
	defer packed.Close()
	const limit = 1 << 20 // a record has a line for each test
	content, err := io.ReadAll(io.LimitReader(packed, limit))
	if err != nil {
		return imagetest.Statement{}, err
	}
	return imagetest.Parse(content)
}
