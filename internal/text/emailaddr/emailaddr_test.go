package emailaddr

import "testing"

// TestInvisibleInAddresses checks that invisible letters and marks are refused in
// addresses, and that visible ones are accepted in any script.
func TestInvisibleInAddresses(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{
		0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180D, 0x180F, 0x3164, 0xFE00, 0xFE0F, 0xFFA0, 0xE0100, 0xE01EF,
		0x00AD, 0x061C, 0x180E, 0x200B, 0x200D, 0x202E, 0x2060, 0x2065, 0x206F, 0xFEFF, 0xFFF0, 0x1BCA0, 0x1D173, 0xE0000, 0xE0041, 0xE0FFF,
	} {
		for _, address := range []string{"ada" + string(r) + "@app.test", string(r) + "ada@app.test", "ada@ap" + string(r) + "p.test"} {
			if got, err := Normalise(address); err == nil {
				t.Errorf("%U: %q became %q", r, address, got)
			}
		}
	}
	for _, address := range []string{"ada@app.test", "ädä@äpp.test", "и́мя@пример.test", "नाम@उदाहरण.test", "이름@도메인.test", "名前@例え.test"} {
		if _, err := Normalise(address); err != nil {
			t.Errorf("twin: %q: %v", address, err)
		}
	}
}
