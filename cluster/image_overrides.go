package cluster

// ImageOverride is one of `cluster.image_overrides`: an image of pods that the API servers replace.
type ImageOverride struct {
	Image       string `yaml:"image" json:"image" required:"true" doc:"Image that is replaced, in exactly the text of pods: nginx, nginx:latest and docker.io/library/nginx:latest are three images here."`
	Replacement string `yaml:"replacement" json:"replacement" required:"true" doc:"Image that the container gets instead, such as registry.example/a/b:1.2-patched."`
}
