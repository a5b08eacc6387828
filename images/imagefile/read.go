package imagefile

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"deployer/strictyaml"
)

//go:embed images/*.yaml
var embedded embed.FS

// Read decodes one image file; file is its path for messages. Errors have file, line and
// column where a key or a value is wrong.
func Read(file string, content []byte) (File, error) {
	root, err := strictyaml.Parse(file, content)
	if err != nil {
		return File{}, err
	}
	var f File
	if err := strictyaml.Decode(file, root, &f); err != nil {
		return File{}, err
	}
	if err := f.check(); err != nil {
		var problems strictyaml.Errors
		for _, problem := range unjoin(err) {
			problems = append(problems, strictyaml.At(file, root).Errorf("%s", problem))
		}
		return File{}, problems
	}
	return f, nil
}

func unjoin(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}

// Embedded returns the images of the project.
func Embedded() (*Set, error) {
	files, err := readAll(embedded, "images", "")
	if err != nil {
		return nil, fmt.Errorf("embedded image files: %w", err)
	}
	return NewSet(files)
}

// Open returns the images of the project together with those of the directory dir, one in
// each file with the ending .yaml. An image of dir with the name of one of the project
// replaces it. An empty dir means the images of the project alone.
func Open(dir string) (*Set, error) {
	if dir == "" {
		return Embedded()
	}
	own, err := readAll(os.DirFS(dir), ".", dir)
	if err == nil && len(own) == 0 {
		err = fmt.Errorf("no image file: write one with the ending .yaml: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("image files of %s: %w", dir, err)
	}
	project, err := readAll(embedded, "images", "")
	if err != nil {
		return nil, fmt.Errorf("embedded image files: %w", err)
	}
	replaced := func(f File) bool {
		return slices.ContainsFunc(own, func(o File) bool { return o.Name == f.Name })
	}
	return NewSet(append(slices.DeleteFunc(project, replaced), own...))
}

// readAll reads the image files in the directory sub of files, in the order of their
// names; dir is its path on disk, empty for embedded files.
func readAll(files fs.FS, sub, dir string) ([]File, error) {
	entries, err := fs.ReadDir(files, sub)
	if err != nil {
		return nil, err
	}
	var all []File
	var problems []error
	for _, entry := range entries {
		if entry.IsDir() || filepath.Ext(entry.Name()) != ".yaml" {
			continue
		}
		content, err := fs.ReadFile(files, filepath.ToSlash(filepath.Join(sub, entry.Name())))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		f, err := Read(filepath.Join(dir, entry.Name()), content)
		f.Dir = dir
		err = errors.Join(err, f.validModules())
		for _, e := range f.Files {
			err = errors.Join(err, f.validSource(e))
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, f)
	}
	return all, errors.Join(problems...)
}
