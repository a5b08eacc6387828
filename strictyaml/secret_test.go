package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
)

func TestResolveTags(t *testing.T) {
	n, err := strictyaml.Parse("f", []byte("a: !secret 0123\nb: &b !secret [x, {k: y}]\nc: !env NAME\nd: *b\ne: plain\n"))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"NAME": "from env"}
	secrets, err := strictyaml.ResolveTags("f", n, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0123", "from env", "x", "y"}, secrets); diff != "" {
		t.Error(diff)
	}
	var got map[string]any
	if err := strictyaml.Decode("f", n, &got); err != nil {
		t.Fatal(err)
	}
	list := []any{"x", map[string]any{"k": "y"}}
	if diff := cmp.Diff(map[string]any{"a": "0123", "b": list, "c": "from env", "d": list, "e": "plain"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestResolveTagsNamesUnsetVariables(t *testing.T) {
	n, err := strictyaml.Parse("f", []byte("a: !env NOPE\nb: !env {x: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = strictyaml.ResolveTags("f", n, func(string) (string, bool) { return "", false })
	want := "f:1:4: environment variable \"NOPE\" is not set; export it before this run\n" +
		"f:2:4: !env wants the name of an environment variable"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreNotRepeatedInErrors(t *testing.T) {
	for _, key := range []string{"port", "ip", "level", "sudo", "timeout", "host_keys", "labels"} {
		n, err := strictyaml.Parse("f", []byte("address: x\n"+key+": !secret hunter2\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := strictyaml.ResolveTags("f", n, nil); err != nil {
			t.Fatal(err)
		}
		err = strictyaml.Decode("f", n, &host{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", key, err)
		}
	}
}
