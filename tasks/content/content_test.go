package content

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/tasktest"
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", inlineLimit+1)
	c := &tasktest.Controller{
		Templates: map[string]string{"a.tmpl": "rendered\n", "large.tmpl": large},
		Files:     map[string]string{"f": "plain", "binary": "\xff\xfe", "empty": ""},
	}
	tests := map[string]struct {
		task engine.Preparer
		want file.File
	}{
		"template": {
			&Template{Src: "a.tmpl", Dest: "/etc/a", Mode: "0600", Owner: "root", Group: "adm", Secret: true, Follow: true, Validate: []string{"true"}},
			file.File{Path: "/etc/a", Content: "rendered\n", Mode: "0600", Owner: "root", Group: "adm", Secret: true, Follow: true, Validate: []string{"true"}},
		},
		"large template": {&Template{Src: "large.tmpl", Dest: "/a"}, file.File{Path: "/a", Blob: c.AddBlob([]byte(large))}},
		"file":           {&Copy{Src: "f", Dest: "/a"}, file.File{Path: "/a", Content: "plain"}},
		"binary file":    {&Copy{Src: "binary", Dest: "/a"}, file.File{Path: "/a", Blob: c.AddBlob([]byte("\xff\xfe"))}},
		"empty file":     {&Copy{Src: "empty", Dest: "/a"}, file.File{Path: "/a", Empty: true}},
		"content":        {&Copy{Content: "text", Dest: "/a"}, file.File{Path: "/a", Content: "text"}},
		"yaml": {
			&YAMLFile{Dest: "/a", Header: "one\n\ntwo", Value: map[string]any{"b": []any{1, "2"}, "a": map[string]any{"on": "yes"}}},
			file.File{Path: "/a", Content: "# one\n#\n# two\na:\n  \"on\": \"yes\"\nb:\n  - 1\n  - \"2\"\n"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, m, err := tt.task.Prepare(context.Background(), c)
			if err != nil || kind != "file" {
				t.Fatalf("%s, %v", kind, err)
			}
			if diff := cmp.Diff(&tt.want, m); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrepareErrors(t *testing.T) {
	t.Parallel()
	c := &tasktest.Controller{}
	for want, task := range map[string]engine.Preparer{
		"rendering template none": &Template{Src: "none", Dest: "/a"},
		"reading file none":       &Copy{Src: "none", Dest: "/a"},
		"exclude each other":      &Copy{Src: "none", Content: "x", Dest: "/a"},
	} {
		if _, _, err := task.Prepare(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, _, err := (&Template{Src: "none", Dest: "/a"}).Prepare(context.Background(), c)
	if !errors.Is(err, tasktest.ErrNoFile) {
		t.Errorf("the cause is lost: %v", err)
	}
}
