-- expect: global 'os'
os.exit(0)
