package build

import (
	"path/filepath"
	"testing"

	"deployer/images"
)

// TestSameInputsGiveTheSameImages compares the digests of the project's images, built
// from fixed programs and packages, with recorded ones. A change of a digest changes
// the bytes that every site has pinned, so it must be intentional.
func TestSameInputsGiveTheSameImages(t *testing.T) {
	want := map[string]string{
		"kube-apiserver v1.36.3 amd64":          "sha256:fedb3b24be4a8718acb1b4893bdea780b45bcff9b1c188dc498c0fecf7950635",
		"kube-controller-manager v1.36.3 amd64": "sha256:cc089bf8e3be0f00ca8a72ea37a69191fc074b6fef952a1e82ecb2b32f998cb5",
		"kube-scheduler v1.36.3 amd64":          "sha256:7d60bd815f0d03f9802343c10a8a6bb4f4c04f9829f10b90570c6b5cf12a7b03",
		"kube-proxy v1.36.3 amd64":              "sha256:b9720fc7aff8c004743a6cb3651b6ba7ee5739454721df01ddec7c83aabc7722",
		"coredns v1.14.7 amd64":                 "sha256:d57236b61fb79f5a3bc9bcd9182b0938ac4e41b6c7aa504f510c2bf4dc24d16f",
		"pause 3.10.1 amd64":                    "sha256:1819af26d3dbc2d8295468da098a67bc0defcc08ba039df92ffe57248ead5862",
		"nginx 1.22.1-9.deb12u10 amd64":         "sha256:958ce34a01ffb3658c8c34aa2649b55fae5c6937f041cb03e8206e56d5ac2ae8",
		"haproxy 2.6.12-1.deb12u1 amd64":        "sha256:57f123db38c2a23c31b233ba523c94d9b836d5e694bb71c5ba2d167f3f057d8a",
	}
	b := fakeBuilder(t)
	outputs, err := b.outputs(t.Context(), "v1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		if o.image == nil {
			continue
		}
		path := filepath.Join(b.options.Dir, o.artifact.Name+".tar")
		if err := o.make(t.Context(), path); err != nil {
			t.Fatalf("%s: %v", o.ref, err)
		}
		_, digest, err := images.ReadImageIndex(path)
		if err != nil {
			t.Fatal(err)
		}
		if digest != want[o.ref.String()] {
			t.Errorf("%q: %q,", o.ref.String(), digest)
		}
		delete(want, o.ref.String())
	}
	for name := range want {
		t.Errorf("no image %s was made", name)
	}
}
