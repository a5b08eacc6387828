package objectstore

import (
	"context"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Object is a line of a list.
type Object struct {
	Location Location
	Size     int64     // in bytes
	Written  time.Time // in UTC
}

// List returns the objects below a prefix, sorted by name.
func (s *Store) List(ctx context.Context, below Location) ([]Object, error) {
	ctx, stop := context.WithCancel(ctx) // ends the listing when an error ends the loop
	defer stop()
	prefix := below.Key
	if prefix != "" {
		prefix += "/"
	}
	var out []Object
	for info := range s.client.ListObjects(ctx, below.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if info.Err != nil {
			return nil, explained("listing", below, info.Err)
		}
		if strings.HasSuffix(info.Key, "/") {
			continue // a directory of a file system behind the store
		}
		out = append(out, Object{Location{below.Bucket, info.Key}, info.Size, info.LastModified.UTC()})
	}
	return out, nil
}
