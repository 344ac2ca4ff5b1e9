package service

import (
	"testing"
	"testing/fstest"
)

func TestMemoryOfTheMachineOrTheControlGroup(t *testing.T) {
	t.Parallel()
	const machine = "MemTotal:       16384 kB\nMemFree:        1 kB\n"
	for name, row := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no control group":          {map[string]string{}, 16384 << 10},
		"version 2":                 {map[string]string{"proc/self/cgroup": "0::/app/one\n", "sys/fs/cgroup/app/one/memory.max": "1048576\n"}, 1 << 20},
		"version 2, no limit":       {map[string]string{"proc/self/cgroup": "0::/app\n", "sys/fs/cgroup/app/memory.max": "max\n"}, 16384 << 10},
		"limit of the parent group": {map[string]string{"proc/self/cgroup": "0::/app/one\n", "sys/fs/cgroup/app/one/memory.max": "max\n", "sys/fs/cgroup/app/memory.max": "2097152\n"}, 2 << 20},
		"a container's own root":    {map[string]string{"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/memory.max": "3145728\n"}, 3 << 20},
		"version 1":                 {map[string]string{"proc/self/cgroup": "5:cpu:/x\n4:memory,hugetlb:/app\n", "sys/fs/cgroup/memory/app/memory.limit_in_bytes": "4194304\n"}, 4 << 20},
		"version 1 without limit":   {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16384 << 10},
		"not a number":              {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "lots\n"}, 16384 << 10},
	} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(machine)}}
		for path, text := range row.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, err := availableMemory(root); err != nil || got != row.want {
			t.Errorf("%s: got %d, error %v, want %d", name, got, err, row.want)
		}
	}
	if got, err := availableMemory(fstest.MapFS{}); err == nil {
		t.Errorf("a system without /proc: got %d, want an error", got)
	}
}
