package build

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"

	"deployer/images"
)

// SBOMSuffix is what the name of an image's archive gets for its SBOM, an SPDX document.
const SBOMSuffix = ".spdx.json"

// sbomDate is the date of every SBOM: the same inputs give the same bytes.
const sbomDate = "1970-01-01T00:00:00Z"

// sbom collects the packages of an SPDX document.
type sbom struct {
	document *spdx.Document
	root     spdx.ElementID
	seen     map[spdx.ElementID]bool
}

// writeSBOM writes the SPDX document of the image in an archive, with that manifest digest:
// its Debian packages, and the modules that the Go compiler has written into its programs,
// those of its bases in the graph included, and all its files. The packages of a base of a
// registry are not known.
func (b *builder) writeSBOM(o *output, archive, manifest, path string) error {
	s := newSBOM(o.artifact.ImageName(o.ref), manifest)
	for in := o.image; in != nil; {
		if err := b.addToSBOM(s, in); err != nil {
			return fmt.Errorf("SBOM: %w", err)
		}
		if in.base == nil {
			break
		}
		in = in.base.image
	}
	if err := s.addFiles(archive); err != nil {
		return fmt.Errorf("SBOM: files of %s: %w", archive, err)
	}
	return writeThrough(path, func(w io.Writer) error { return spdxjson.Write(s.document, w, spdxjson.Indent(" ")) })
}

func newSBOM(name, manifest string) *sbom {
	s := &sbom{seen: map[spdx.ElementID]bool{}, document: &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: name, DocumentNamespace: "https://deployer.build/spdx/" + strings.TrimPrefix(manifest, "sha256:"),
		CreationInfo: &spdx.CreationInfo{Created: sbomDate, Creators: []spdx.Creator{{CreatorType: "Tool", Creator: "deployer"}}},
	}}
	repository, tag := cutTag(name)
	s.root = s.add("image", spdx.RelationshipDescribes, spdx.Package{
		PackageName: repository, PackageVersion: tag,
		PackageChecksums: []spdx.Checksum{{Algorithm: spdx.SHA256, Value: strings.TrimPrefix(manifest, "sha256:")}},
	}, "")
	return s
}

// cutTag splits the full name of an image into the name without tag and the tag.
func cutTag(name string) (repository, tag string) {
	i := strings.LastIndex(name, ":")
	return name[:i], name[i+1:]
}

// addToSBOM adds the packages, programs and modules of one image.
func (b *builder) addToSBOM(s *sbom, in *imageInputs) error {
	for _, d := range in.all() {
		s.add("deb-"+d.Name, spdx.RelationshipContains, spdx.Package{
			PackageName: d.Name, PackageVersion: d.Version,
			PackageChecksums:  []spdx.Checksum{{Algorithm: spdx.SHA256, Value: d.SHA256}},
			PackageSourceInfo: sourceInfo(d),
		}, "pkg:deb/debian/"+d.Name+"@"+d.Version+"?arch="+d.Arch)
	}
	for i, binary := range in.file.Binaries {
		m := in.modules[i]
		key, err := m.key(b.goVersion, b.arch)
		if err != nil {
			return err
		}
		path := filepath.Join(b.options.Work, "modules", m.name+"-"+key, "bin", builtName(binary))
		digest, _, err := images.HashFile(path)
		if err != nil {
			return err
		}
		s.add("program-"+binary.Program, spdx.RelationshipContains, spdx.Package{
			PackageName: binary.Program, PackageVersion: m.name, PackageFileName: binary.Path,
			PackageChecksums: []spdx.Checksum{{Algorithm: spdx.SHA256, Value: digest}},
		}, "")
		s.addModules(path)
	}
	if in.resolved.base != "" {
		s.add("base", spdx.RelationshipDescendantOf, spdx.Package{PackageName: in.resolved.base}, "")
	}
	return nil
}

// addModules adds the modules of a program. A program without build information, which Go's
// compiler does not write, is listed without modules.
func (s *sbom) addModules(path string) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return
	}
	s.add("go-stdlib", spdx.RelationshipContains,
		spdx.Package{PackageName: "stdlib", PackageVersion: info.GoVersion}, "pkg:golang/stdlib@"+strings.TrimPrefix(info.GoVersion, "go"))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		s.add("go-"+m.Path+"-"+m.Version, spdx.RelationshipContains,
			spdx.Package{PackageName: m.Path, PackageVersion: m.Version, PackageSourceInfo: m.Sum}, "pkg:golang/"+m.Path+"@"+m.Version)
	}
}

// unfit are the characters that identifiers of SPDX may not have.
var unfit = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// add adds a package once, with its relationship to the image, and returns its identifier.
func (s *sbom) add(id, relationship string, p spdx.Package, purl string) spdx.ElementID {
	p.PackageSPDXIdentifier = spdx.ElementID(unfit.ReplaceAllString(id, "-"))
	if s.seen[p.PackageSPDXIdentifier] {
		return p.PackageSPDXIdentifier
	}
	s.seen[p.PackageSPDXIdentifier] = true
	p.PackageDownloadLocation, p.PackageLicenseConcluded, p.PackageLicenseDeclared = "NOASSERTION", "NOASSERTION", "NOASSERTION"
	p.PackageCopyrightText = "NOASSERTION"
	if purl != "" {
		p.PackageExternalReferences = []*spdx.PackageExternalReference{{
			Category: spdx.CategoryPackageManager, RefType: spdx.PackageManagerPURL, Locator: escapedPURL(purl),
		}}
	}
	s.document.Packages = append(s.document.Packages, &p)
	from := spdx.ElementID("DOCUMENT")
	if relationship != spdx.RelationshipDescribes {
		from = s.root
	}
	s.relate(from, relationship, p.PackageSPDXIdentifier)
	return p.PackageSPDXIdentifier
}

func (s *sbom) relate(from spdx.ElementID, relationship string, to spdx.ElementID) {
	s.document.Relationships = append(s.document.Relationships, &spdx.Relationship{
		RefA: spdx.DocElementID{ElementRefID: from}, Relationship: relationship, RefB: spdx.DocElementID{ElementRefID: to},
	})
}

// escapedPURL escapes the plus signs of versions, which package URLs may not have.
func escapedPURL(purl string) string { return strings.ReplaceAll(purl, "+", "%2B") }

func sourceInfo(d deb) string {
	if d.Source == "" {
		return ""
	}
	return "built from source package " + d.Source
}
