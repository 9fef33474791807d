from framewright_client import Framewright

with Framewright() as client:
    video = client.generate("A lighthouse at dawn", duration=5)
    video.download("lighthouse.mp4")
    print(video.url)
