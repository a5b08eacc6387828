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
		Files: map[string]string{"f": "plain", "binary": "\xff\xfe", "empty": "", "run.sh": "#!/bin/sh\n", "large": large,
			"site/index.html": "<p>", "site/bin/up.sh": "up", "site/logo": "\xff"},
	}
	tests := map[string]struct {
		task engine.Preparer
		want file.File
	}{
		"template": {
			&Template{Src: "a.tmpl", Dest: "/etc/a", Mode: "0600", Owner: "root", Group: "adm", Secret: true, Follow: true, Validate: []string{"true"}, Force: new(false), Backup: true},
			file.File{Path: "/etc/a", Content: new("rendered\n"), Mode: "0600", Owner: "root", Group: "adm", Secret: true, Follow: true, Validate: []string{"true"}, Force: new(false), Backup: true},
		},
		"large template":   {&Template{Src: "large.tmpl", Dest: "/a"}, file.File{Path: "/a", Blob: c.AddBlob([]byte(large))}},
		"file":             {&Copy{Src: "f", Dest: "/a"}, file.File{Path: "/a", Content: new("plain")}},
		"binary file":      {&Copy{Src: "binary", Dest: "/a"}, file.File{Path: "/a", Blob: c.AddBlob([]byte("\xff\xfe"))}},
		"empty file":       {&Copy{Src: "empty", Dest: "/a"}, file.File{Path: "/a", Empty: true}},
		"content":          {&Copy{Content: "text", Dest: "/a"}, file.File{Path: "/a", Content: new("text")}},
		"into a directory": {&Copy{Src: "f", Dest: "/a/"}, file.File{Path: "/a/f", Content: new("plain")}},
		"its own mode":     {&Copy{Src: "run.sh", Dest: "/a", Mode: "preserve"}, file.File{Path: "/a", Content: new("#!/bin/sh\n"), Mode: "0755"}},
		"large file":       {&Copy{Src: "large", Dest: "/a"}, file.File{Path: "/a", Blob: c.AddBlob([]byte(large))}},
		"of the host":      {&Copy{Src: "/usr/f", Dest: "/a/", RemoteSrc: true, Mode: "preserve"}, file.File{Path: "/a/f", From: "/usr/f", Mode: "preserve"}},
		"yaml": {
			&YAMLFile{Dest: "/a", Header: "one\n\ntwo", Value: map[string]any{"b": []any{1, "2"}, "a": map[string]any{"on": "yes"}}},
			file.File{Path: "/a", Content: new("# one\n#\n# two\na:\n  \"on\": \"yes\"\nb:\n  - 1\n  - \"2\"\n")},
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

func TestPrepareDirectory(t *testing.T) {
	t.Parallel()
	c := &tasktest.Controller{Files: map[string]string{"site/index.html": "<p>", "site/bin/up.sh": "up", "site/logo": "\xff"}}
	logo := c.AddBlob([]byte("\xff"))
	tests := map[string]struct {
		task Copy
		want file.DirectoryTree
	}{
		"itself": {
			Copy{Src: "site", Dest: "/srv", Owner: "www", DirMode: "0750"},
			file.DirectoryTree{Path: "/srv/site", Owner: "www", DirMode: "0750", Entries: []file.TreeEntry{
				{Name: "bin", Dir: true}, {Name: "bin/up.sh", Content: "up"}, {Name: "index.html", Content: "<p>"}, {Name: "logo", Blob: logo},
			}},
		},
		"what is in it": {
			Copy{Src: "site/bin/", Dest: "/srv/bin/", Mode: "preserve", Secret: true},
			file.DirectoryTree{Path: "/srv/bin", Secret: true, Entries: []file.TreeEntry{{Name: "up.sh", Content: "up", Mode: "0755"}}},
		},
		"of the host": {
			Copy{Src: "/usr/share/site/", Dest: "/srv", RemoteSrc: true, Mode: "preserve"},
			file.DirectoryTree{Path: "/srv", From: "/usr/share/site", Mode: "preserve"},
		},
	}
	for name, tt := range tests {
		kind, m, err := tt.task.Prepare(context.Background(), c)
		if err != nil || kind != "directory_tree" {
			t.Errorf("%s: %s, %v", name, kind, err)
			continue
		}
		if diff := cmp.Diff(&tt.want, m); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPrepareErrors(t *testing.T) {
	t.Parallel()
	c := &tasktest.Controller{}
	for want, task := range map[string]engine.Preparer{
		"rendering template none":   &Template{Src: "none", Dest: "/a"},
		"reading none":              &Copy{Src: "none", Dest: "/a"},
		"give the path of the file": &Copy{Content: "x", Dest: "/a/"},
		"absolute path":             &Copy{Src: "none", Dest: "/a", RemoteSrc: true},
		"exclude each other":        &Copy{Src: "none", Content: "x", Dest: "/a"},
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
