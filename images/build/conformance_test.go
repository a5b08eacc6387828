package build

import (
	"slices"
	"strings"
	"testing"

	"deployer/images"
	"deployer/images/imagefile"
)

// TestPinsOfConformanceTests: every release whose tests the catalogue lists has pins for them, with the
// ginkgo that Kubernetes itself requires, and the image of the tests has a recipe.
func TestPinsOfConformanceTests(t *testing.T) {
	c := catalogueOf(t)
	for kubernetes := range c.Conformance {
		m := kubernetesTestsModule(kubernetes)
		files, err := m.files()
		if err != nil {
			t.Errorf("%s: %v", kubernetes, err)
			continue
		}
		if !strings.Contains(string(files["go.mod"]), "\tk8s.io/kubernetes "+kubernetes+" ") || !strings.Contains(string(files["go.sum"]), "k8s.io/kubernetes "+kubernetes+" h1:") {
			t.Errorf("%s does not pin k8s.io/kubernetes %s", m.name, kubernetes)
		}
		for _, program := range []string{"test/e2e", "test/images/agnhost", "test/conformance/image/go-runner"} {
			if !strings.Contains(string(files["go.mod"]), "\tk8s.io/kubernetes/"+program+"\n") {
				t.Errorf("%s has no program %s", m.name, program)
			}
		}
		plain, _ := kubernetesModule(kubernetes).key("go1", "amd64")
		if key, err := m.key("go1", "amd64"); err != nil || key == plain {
			t.Errorf("key %s, %v", key, err)
		}
	}
}

// TestConformanceImagesAreBuiltOnDemand: they need their set or their names, in the versions that the
// tests of the Kubernetes version name.
func TestConformanceImagesAreBuiltOnDemand(t *testing.T) {
	c, set := catalogueOf(t), func() *imagefile.Set { s, _ := imagefile.Embedded(); return s }()
	names := func(kubernetes string, change func(*Options)) (out []string) {
		b := &builder{catalogue: c, images: set}
		change(&b.options)
		for _, name := range b.imageNames(kubernetes) {
			if c.HasConformanceImage(name) {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	want := []string{"conformance", "e2e-agnhost", "e2e-dns", "e2e-nginx", "e2e-pause"}
	for name, test := range map[string]struct {
		change func(*Options)
		want   []string
	}{
		"default":    {func(*Options) {}, nil},
		"all images": {func(o *Options) { o.OnlyImages = true }, nil},
		"with set":   {func(o *Options) { o.Sets = []string{images.ConformanceSet} }, want},
		"by name":    {func(o *Options) { o.Names = []string{"e2e-agnhost"} }, want[1:2]},
	} {
		if got := names("v1.36.3", test.change); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	b := &builder{catalogue: c, images: set}
	for kubernetes, want := range map[string]string{
		"v1.36.3": "registry.k8s.io/e2e-test-images/glibc-dns-testing:2.0.0", "v1.35.4": "registry.k8s.io/e2e-test-images/jessie-dnsutils:1.7",
	} {
		f, err := set.File("e2e-dns")
		if err != nil {
			t.Fatal(err)
		}
		a, err := b.imageArtifact(f, kubernetes)
		if err != nil {
			t.Fatal(err)
		}
		version, err := b.imageVersion(&imageInputs{file: f}, kubernetes)
		if got := a.ImageName(images.Ref{Name: f.Name, Version: version}); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", kubernetes, got, err, want)
		}
	}
}
