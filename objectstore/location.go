package objectstore

import (
	"fmt"
	"path"
	"strings"
)

// scheme begins the text of a Location.
const scheme = "s3://"

// Location is an object, or the objects below a prefix.
type Location struct {
	Bucket string
	Key    string // name of the object, or a prefix without a slash at its end; may be empty
}

// IsLocation reports whether a text is meant as a Location, and not as the path of a file.
func IsLocation(text string) bool { return strings.HasPrefix(text, scheme) }

// ParseLocation reads s3://BUCKET or s3://BUCKET/KEY.
func ParseLocation(text string) (Location, error) {
	rest, ok := strings.CutPrefix(text, scheme)
	bucket, key, _ := strings.Cut(rest, "/")
	key = strings.TrimSuffix(key, "/")
	if !ok || bucket == "" || key != "" && (path.Clean("/"+key) != "/"+key || strings.ContainsAny(key, "\\?#\n")) {
		return Location{}, fmt.Errorf("%q is no place in an object store: use s3://BUCKET/NAME, with single slashes in NAME", text)
	}
	return Location{bucket, key}, nil
}

// String returns the form that ParseLocation reads.
func (l Location) String() string {
	if l.Key == "" {
		return scheme + l.Bucket
	}
	return scheme + l.Bucket + "/" + l.Key
}

// Join returns the location of a name below l.
func (l Location) Join(name string) Location {
	return Location{l.Bucket, strings.TrimPrefix(l.Key+"/"+name, "/")}
}
