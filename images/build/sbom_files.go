package build

import (
	"archive/tar"
	"crypto/sha1" //nolint:gosec // SPDX requires the checksum, and uses it for no protection
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/utils"

	"deployer/images"
)

// addFiles adds the regular files of the image in an archive with their checksums: the files
// that a container of the image begins with, those of its base included.
func (s *sbom) addFiles(archive string) error {
	img, err := images.OpenImage(archive)
	if err != nil {
		return err
	}
	content := mutate.Extract(img)
	defer content.Close()
	sums, err := fileSums(tar.NewReader(content))
	if err != nil {
		return err
	}
	for i, name := range slices.Sorted(maps.Keys(sums)) {
		f := &spdx.File{
			FileName: "./" + name, FileSPDXIdentifier: spdx.ElementID(fmt.Sprintf("file-%d", i+1)), Checksums: sums[name],
			LicenseConcluded: "NOASSERTION", LicenseInfoInFiles: []string{"NOASSERTION"}, FileCopyrightText: "NOASSERTION",
		}
		s.document.Files = append(s.document.Files, f)
		s.relate(s.root, spdx.RelationshipContains, f.FileSPDXIdentifier)
	}
	image := s.document.Packages[0]
	code, err := utils.GetVerificationCode(s.document.Files, "")
	image.FilesAnalyzed, image.PackageVerificationCode = true, &code
	return err
}

// fileSums returns the checksums of the regular files in a tar, by their path without
// leading slash. A hard link is a file with the content of its target, which may come after
// it.
func fileSums(archive *tar.Reader) (map[string][]spdx.Checksum, error) {
	sums, links := map[string][]spdx.Checksum{}, map[string]string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		name := relative(header.Name)
		switch header.Typeflag {
		case tar.TypeLink:
			links[name] = relative(header.Linkname)
		case tar.TypeReg:
			short, long := sha1.New(), sha256.New() //nolint:gosec // see above
			if _, err := io.Copy(io.MultiWriter(short, long), archive); err != nil {
				return nil, fmt.Errorf("%s: %w", header.Name, err)
			}
			sums[name] = []spdx.Checksum{
				{Algorithm: spdx.SHA1, Value: hex.EncodeToString(short.Sum(nil))},
				{Algorithm: spdx.SHA256, Value: hex.EncodeToString(long.Sum(nil))},
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		target, ok := sums[links[name]]
		if !ok {
			return nil, fmt.Errorf("%s is a hard link to %s, which the image does not have", name, links[name])
		}
		sums[name] = target
	}
	return sums, nil
}

// relative returns a path of a tar without leading slash and dots.
func relative(name string) string { return path.Join("/", name)[1:] }
